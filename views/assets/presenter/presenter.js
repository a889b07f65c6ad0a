/**
 * Presenting a lesson: the bar with its buttons, the keys, and the word between the stage and the speaker's window.
 *
 * `component` is Streamlit's ({data, parentElement, setTriggerValue}), with data = {role, lesson, slide, titles, locked,
 * leave, notes, labels}; slides count from 1. `role` "stage" shows slides; "notes" is the speaker's own window, which
 * follows the stage and moves it. Both are pages of one browser: nothing of this goes through the server.
 */

/** @type {WeakMap<ParentNode, Presenter>} */
const instances = new WeakMap();

const TYPING = "input, textarea, select, [contenteditable='true']";
/** The picture steps by the arrow keys when it has the focus; PageDown and PageUp turn the screen even then. */
const OWN_ARROWS = `${TYPING}, .fb, [role=tab], [role=slider], [role=radio], [role=combobox], [role=option], [role=grid]`;
const OWN_SPACE = `${OWN_ARROWS}, button, a, summary, [role=button], [role=checkbox], [role=switch]`;

export function update(component) {
  const place = component.parentElement;
  if (!instances.has(place)) instances.set(place, new Presenter(place.querySelector(".presenter"), component));
  instances.get(place).update(component);
}

export function destroy(place) {
  instances.get(place)?.destroy();
  instances.delete(place);
}

/** What a key asks for, or null: what a person types into or works with keeps its keys. @param {KeyboardEvent} event */
export function meaning(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return null;
  const target = event.composedPath()[0];
  const within = (selector) => target instanceof Element && target.closest(selector) !== null;
  if (event.key === "PageDown") return within(TYPING) ? null : "next";
  if (event.key === "PageUp") return within(TYPING) ? null : "back";
  if (event.key === "ArrowRight") return within(OWN_ARROWS) ? null : "next";
  if (event.key === "ArrowLeft") return within(OWN_ARROWS) ? null : "back";
  if (event.key === " ") return within(OWN_SPACE) ? null : event.shiftKey ? "back" : "next";
  if (event.key.toLowerCase() === "b" || event.key === ".") return within(TYPING) ? null : "blank";
  return null;
}

class Presenter {
  constructor(root, component) {
    this.root = root;
    this.slide = component.data.slide;
    this.blank = false;
    this.channel = new BroadcastChannel(`twospeeds-presenter-${component.data.lesson}`);
    this.channel.onmessage = ({ data }) => this.told(data);
    this.onKey = (event) => this.key(event);
    document.addEventListener("keydown", this.onKey);
    this.build(component.data);
    if (component.data.role === "notes") this.channel.postMessage({ ask: true });
  }

  build({ role, locked, labels, leave, notes }) {
    this.back = button(labels.back, () => this.act("back"));
    this.next = button(labels.next, () => this.act("next"));
    this.hide = button(labels.blank, () => this.act("blank"));
    this.hide.setAttribute("aria-pressed", "false");
    this.where = Object.assign(document.createElement("span"), { className: "where" });
    this.said = Object.assign(document.createElement("p"), { className: "said" });
    this.said.setAttribute("role", "status");
    const links = role === "stage" ? [link(labels.notes, notes, true), link(labels.leave, leave, false)] : [];
    const bar = Object.assign(document.createElement("div"), { className: "bar" });
    bar.setAttribute("role", "group");
    bar.setAttribute("aria-label", labels.bar);
    bar.append(this.back, this.where, this.next, this.hide, ...links);
    bar.hidden = locked;
    this.root.replaceChildren(bar, this.said);
    this.root.dataset.role = role;
  }

  update(component) {
    this.component = component;
    if (component.data.role === "stage") {
      const turned = component.data.slide !== this.shown;
      this.slide = this.shown = component.data.slide;
      if (turned) document.querySelector("[data-testid=stMain]")?.scrollTo({ top: 0, behavior: "instant" });
    }
    this.draw();
    this.tell();
  }

  draw() {
    const { titles, labels, role } = this.component.data;
    const [title, following] = [titles[this.slide - 1], titles[this.slide]];
    const place = labels.place.replace("{n}", this.slide).replace("{all}", titles.length);
    const then = role === "notes" && following ? ` · ${labels.then} ${following}` : "";
    this.where.textContent = role === "notes" ? `${place}: ${title}${then}` : place;
    const told = this.blank ? labels.blanked : `${place}: ${title}`;
    if (this.said.textContent !== told) this.said.textContent = told;
    this.said.classList.toggle("seen", this.blank && role === "stage");
    this.hide.setAttribute("aria-pressed", String(this.blank));
    this.back.setAttribute("aria-disabled", String(this.slide <= 1));
    this.next.setAttribute("aria-disabled", String(this.slide >= titles.length));
    if (role === "stage") document.documentElement.toggleAttribute("data-ts-blank", this.blank);
  }

  key(event) {
    const asked = meaning(event);
    if (asked === null) return;
    event.preventDefault();
    this.act(asked);
  }

  /** Do what a key or a button asks for; the speaker's window asks the stage to do it. */
  act(asked) {
    if (this.component.data.role === "notes") return this.channel.postMessage({ act: asked });
    if (asked === "blank") {
      this.blank = !this.blank;
    } else {
      const wanted = this.slide + (asked === "next" ? 1 : -1);
      if (wanted < 1 || wanted > this.component.data.titles.length) return;
      this.slide = wanted;
      this.component.setTriggerValue("go", wanted);
    }
    this.draw();
    this.tell();
  }

  told({ act, ask, slide, blank }) {
    const isStage = this.component?.data.role === "stage";
    if (isStage && act) this.act(act);
    if (isStage && ask) this.tell();
    if (!isStage && this.component && slide) {
      [this.slide, this.blank] = [Math.min(slide, this.component.data.titles.length), blank];
      this.draw();
    }
  }

  tell() {
    if (this.component.data.role === "stage") this.channel.postMessage({ slide: this.slide, blank: this.blank });
  }

  destroy() {
    document.removeEventListener("keydown", this.onKey);
    document.documentElement.removeAttribute("data-ts-blank");
    this.channel.close();
  }
}

function button(label, onclick) {
  return Object.assign(document.createElement("button"), { type: "button", textContent: label, onclick });
}

function link(label, href, apart) {
  const made = Object.assign(document.createElement("a"), { textContent: label, href });
  if (apart) made.target = "_blank";
  return made;
}
