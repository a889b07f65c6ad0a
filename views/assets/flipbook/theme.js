/**
 * Colours, read where the component stands. Streamlit's theme gives the background, text and lines; the five colours that
 * mean something come from views/palette.py, in the set for a light or a dark background.
 *
 * @typedef {Object} Theme
 * @property {boolean} dark
 * @property {string} ink
 * @property {string} paper
 * @property {string} prefill
 * @property {string} decode
 * @property {string} kv
 * @property {string} state
 * @property {string} weights
 * @property {string} font
 */

/**
 * @param {HTMLElement} root
 * @param {Record<"light"|"dark", Record<string, string>>} colours
 * @returns {Theme}
 */
export function readTheme(root, colours) {
  const style = getComputedStyle(root);
  const paper = style.getPropertyValue("--st-background-color").trim() || "#ffffff";
  const ink = style.getPropertyValue("--st-text-color").trim() || "#1f2937";
  const dark = luminance(rgb(paper)) < 0.35;
  return { dark, paper, ink, font: style.fontFamily, ...colours[dark ? "dark" : "light"] };
}

/** Hand the five colours to the style sheets. @param {HTMLElement} root @param {Theme} theme */
export function applyTheme(root, theme) {
  for (const meaning of ["prefill", "decode", "kv", "state", "weights"]) {
    root.style.setProperty(`--ts-${meaning}`, theme[meaning]);
  }
  root.dataset.theme = theme.dark ? "dark" : "light";
}

/** Any CSS colour as [r, g, b] in 0..255, through the browser's own parser. @param {string} colour */
export function rgb(colour) {
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  context.fillStyle = "#ffffff";
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  return Array.from(context.getImageData(0, 0, 1, 1).data.slice(0, 3));
}

/** Relative luminance after WCAG 2.2. @param {number[]} channels */
export function luminance(channels) {
  const [r, g, b] = channels.map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
