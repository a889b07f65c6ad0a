/** Buttons, scrubber, speed and keys: everything by which a person moves the cursor. */

import { icon, setText } from "./dom.js";
import { passWords } from "./captions.js";
import { isOver } from "./score.js";

const LEAP = 10;

/**
 * @param {Object} parts from skeleton.js
 * @param {{player: () => import("./player.js").Player, moved: () => void, toggleTable: () => void}} actions
 */
export function connect(parts, actions) {
  const act = (change) => () => {
    change(actions.player());
    actions.moved();
  };
  const { buttons } = parts;
  buttons.first.onclick = act((player) => player.go(0));
  buttons.back.onclick = act((player) => player.go(player.step - 1));
  buttons.play.onclick = act((player) => player.toggle());
  buttons.forward.onclick = act((player) => player.go(player.step + 1, { sweep: true }));
  buttons.last.onclick = act((player) => player.go(player.last));
  parts.live.onclick = act((player) => player.follow());
  parts.scrub.oninput = act((player) => player.go(Number(parts.scrub.value)));
  parts.speed.onchange = act((player) => {
    player.chosen = parts.speed.value;
  });
  parts.tableButton.onclick = actions.toggleTable;
  parts.root.onkeydown = (event) => onKey(event, parts, actions);
}

/** What each key does to the cursor. A held key goes on without sweeping. */
const KEYS = {
  ArrowRight: (player, event) => player.go(player.step + (event.shiftKey ? LEAP : 1), { sweep: !event.repeat && !event.shiftKey }),
  ArrowLeft: (player, event) => player.go(player.step - (event.shiftKey ? LEAP : 1)),
  Home: (player) => player.go(0),
  End: (player) => player.go(player.last),
  " ": (player) => player.toggle(),
};

function onKey(event, parts, actions) {
  const target = event.composedPath()[0];
  // Without passes in view there is no cursor to move.
  if (parts.root.dataset.stage !== "passes") return;
  if (event.ctrlKey || event.metaKey || event.altKey || target === parts.speed) return;
  // Space presses the button that has the focus; arrows scroll what can be scrolled.
  if (event.key === " " && target.tagName === "BUTTON") return;
  const isTable = event.key === "t" || event.key === "T";
  if (!isTable && (target === parts.scroller || parts.table.contains(target))) return;
  const move = KEYS[event.key];
  if (!isTable && !move) return;
  // Streamlit listens for keys, too.
  event.preventDefault();
  event.stopPropagation();
  if (isTable) actions.toggleTable();
  else {
    move(actions.player(), event);
    actions.moved();
  }
}

/** Bring the controls in line with the cursor. @param {Object} parts @param {Object} scene */
export function showControls(parts, scene) {
  const { score, player, pass, engine } = scene;
  const playing = player.isPlaying;
  showPlay(parts, scene);
  const atStart = player.step <= 0 && !playing;
  const atEnd = player.step >= player.last && !playing;
  disable(parts.buttons.first, atStart);
  disable(parts.buttons.back, atStart);
  disable(parts.buttons.forward, atEnd);
  disable(parts.buttons.last, atEnd);
  parts.scrub.max = String(Math.max(0, player.last));
  parts.scrub.value = String(player.step);
  parts.speed.value = player.speed();
  parts.live.hidden = engine === null || isOver(score);
  showPass(parts, scene, pass);
  showTrack(parts, player, engine);
}

/** The one control of a glimpse: what moves by itself can be stopped. @param {Object} parts @param {Object} scene */
export function showPlay(parts, { player, words }) {
  setPressed(parts.buttons.play, player.isPlaying ? "pause" : "play", words);
}

function showPass(parts, scene, pass) {
  if (!pass) {
    setText(parts.passName, "");
    setText(parts.passDetail, "");
    return;
  }
  const said = passWords(scene, pass);
  setText(parts.passName, `${said.name} · ${said.phase}`);
  setText(parts.passDetail, said.detail);
  const value = { pass: said.name.toLocaleLowerCase(scene.words.labels.lang), phase: said.phase };
  parts.scrub.setAttribute(
    "aria-valuetext",
    scene.words.say("value_text", { ...value, tokens_in: said.tokensIn, tokens_out: said.tokensOut }),
  );
  parts.bar.dataset.phase = pass.phase;
}

function showTrack(parts, player, engine) {
  const share = player.last > 0 ? player.step / player.last : 0;
  parts.track.style.setProperty("--at", String(share));
  parts.engineMark.hidden = engine === null;
}

/** aria-disabled keeps the focus where it is when a button has nothing more to do. */
function disable(button, isDisabled) {
  button.setAttribute("aria-disabled", String(isDisabled));
}

function setPressed(button, name, words) {
  if (button.dataset.shows === name) return;
  button.dataset.shows = name;
  button.replaceChildren(icon(name));
  button.setAttribute("aria-label", words.say(name));
  button.title = words.say(name);
}
