/** Building blocks of a component. Text is always set as text, so nothing in a token can become markup. */

/**
 * An element with attributes and children; strings become text nodes.
 * @param {string} tag
 * @param {Record<string, string|boolean|null>} [attributes]  null and false leave one out
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(name, "");
    else if (value !== null && value !== false) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** Set text only where it changed, so that nothing is announced or laid out for nothing. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
