/** One flipbook on the page: its run, its cursor, its picture, and the wires between them. */

import { caption } from "./captions.js";
import { connect, showControls, showPlay } from "./controls.js";
import { setText } from "./dom.js";
import { handleOf } from "./handle.js";
import { unitFor } from "./layout.js";
import { describeScore, passSentence, showTimeLegend, showUnfold } from "./legends.js";
import { Painter } from "./painter.js";
import { showMemory, showOdds } from "./panels.js";
import { Player } from "./player.js";
import { connectPointer } from "./pointer.js";
import { Reporter } from "./reporter.js";
import { sceneKey, sceneOf, sizeOf } from "./scene.js";
import { join, leave, takeAlong } from "./together.js";
import { createScore, extend, isOver } from "./score.js";
import { build } from "./skeleton.js";
import { RunSocket, logAddress } from "./socket.js";
import { RunTable } from "./table.js";
import { applyTheme, readTheme } from "./theme.js";
import { Words } from "./words.js";

/** Between the end of a glimpse and its next beginning. */
const REST_MS = 1800;

export class Flipbook {
  /** @param {HTMLElement} root the component's own element @param {Object} component Streamlit's, see flipbook.js */
  constructor(root, component) {
    this.root = root;
    this.words = new Words(component.data.labels);
    this.parts = build(root, this.words);
    root.setAttribute("aria-label", this.words.say("group"));
    this.painter = new Painter(this.parts);
    this.motionQuery = matchMedia("(prefers-reduced-motion: reduce)");
    this.isReduced = () => this.motionQuery.matches;
    this.identity = undefined;
    this.hoverColumn = -1;
    this.frameRequest = 0;
    this.width = root.clientWidth;
    this.unit = this.unitNow();
    this.connectControls();
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(root);
    document.fonts?.ready.then(() => this.dirty());
  }

  connectControls() {
    connect(this.parts, { player: () => this.player, moved: () => this.moved(), toggleTable: () => this.toggleTable() });
    connectPointer(this.parts, {
      scene: () => this.scene,
      layout: () => this.painter.layout,
      hover: (position) => this.hover(position),
      go: (step) => {
        this.player.go(step);
        this.moved();
      },
      unfold: (position) => this.unfold(true, position),
    });
    this.parts.unfold.onclick = () => this.unfold(!this.unfolded, 0);
    this.parts.scroller.onscroll = () => this.dirty();
  }

  /** Take Streamlit's latest `data`; safe to call with the same data again. */
  update(component) {
    this.component = component;
    const data = component.data;
    join(this, data.together);
    const identity = data.recording?.events[0].run_id ?? data.run_id ?? null;
    if (identity !== this.identity) this.start(data, identity);
    this.hidden = data.reveal === false;
    this.becomeGlimpse(data.reveal === "motion");
    if (data.recording) extend(this.score, 0, data.recording.events);
    this.openLog(data);
    this.begin(data);
    this.theme = readTheme(this.root, data.colours);
    applyTheme(this.root, this.theme);
    this.shownKey = null;
    this.dirty();
  }

  /** Another run: nothing of the one before stays. */
  start(data, identity) {
    this.socket?.close();
    this.reporter?.cancel();
    clearTimeout(this.again);
    this.socket = null;
    this.identity = identity;
    this.isLive = Boolean(data.run_id);
    this.isLost = false;
    this.refusal = null;
    this.unfolded = false;
    this.hoverColumn = -1;
    this.hasBegun = false;
    this.appliedAt = undefined;
    this.score = createScore();
    this.player = new Player({ score: this.score, isReduced: this.isReduced, onRest: () => this.reporter.moved() });
    this.reporter = new Reporter({
      step: () => this.player.step,
      isSettled: () => !this.player.isPlaying && this.player.motion !== "follow" && !this.hidden && !this.glimpse,
      report: (step) => this.component.setStateValue("settled", { run_id: identity, step }),
      announce: () => setText(this.parts.voice, this.scene?.pass ? passSentence(this.scene) : ""),
    });
    this.table = null;
    this.parts.table.replaceChildren();
  }

  /** A glimpse that is over starts anew as the whole picture. */
  becomeGlimpse(glimpse) {
    if (this.glimpse && !glimpse) {
      clearTimeout(this.again);
      this.hasBegun = false;
      this.player.chosen = null;
    }
    this.glimpse = glimpse;
  }

  openLog(data) {
    if (!data.run_id || this.hidden || this.socket || isOver(this.score)) return;
    this.socket = new RunSocket({
      address: (from) => logAddress(data.base_path, data.run_id, from),
      held: () => this.score.events,
      onEvents: (from, events) => this.arrived(from, events),
      onEnd: () => this.component.setStateValue("ended", data.run_id),
      onError: (error) => {
        this.refusal = error;
        this.dirty();
      },
      onConnection: (isLost) => {
        this.isLost = isLost && !isOver(this.score);
        this.dirty();
      },
    });
    this.socket.open();
  }

  arrived(from, events) {
    if (!extend(this.score, from, events)) return false;
    this.begin(this.component.data);
    this.player.arrived();
    this.dirty();
    return true;
  }

  /** Put the cursor where it starts, once there is a pass to stand on; later, where Python sends it. */
  begin(data) {
    if (this.hidden || this.player.last < 0) return;
    const at = data.at ?? null;
    if (!this.hasBegun) {
      if (at !== null && at > this.player.last && !isOver(this.score)) return;
      this.hasBegun = true;
      this.appliedAt = at;
      this.firstMove(data, at);
    } else if (at !== this.appliedAt) {
      this.appliedAt = at;
      if (at !== null && !this.reporter.isEcho(at)) this.place(at);
    }
  }

  firstMove(data, at) {
    if (this.glimpse) this.playGlimpse();
    else if (at !== null) this.place(at);
    else if (data.together) this.place(0);
    else if (this.isLive) this.player.watch();
    else if (data.play) this.player.play();
    else if (!this.isReduced()) Object.assign(this.player, { motion: "sweep", step: 0, progress: 0 });
  }

  /** One pass after another at one pace, over and over; its button stops it, and under reduced motion it stands still. */
  playGlimpse() {
    this.player.chosen = "even";
    if (!this.isReduced()) this.player.play();
    this.dirty();
  }

  /** After its last pass a glimpse rests a moment, then begins again; one that was paused in the middle stays there. */
  repeatGlimpse() {
    const { player } = this;
    clearTimeout(this.again);
    if (!this.glimpse || player.isPlaying || player.step < player.last || this.isReduced()) return;
    this.again = setTimeout(() => this.playGlimpse(), REST_MS);
  }

  /** Stand on a pass without telling anyone: it is Python that said so. */
  place(at) {
    Object.assign(this.player, { motion: "rest", progress: 1, step: Math.min(this.player.last, Math.max(0, at)) });
  }

  /** A person moved the cursor. */
  moved() {
    this.reporter.moved();
    if (this.unfolded) this.scrollToCursor();
    this.dirty();
    takeAlong(this);
  }

  /** Another flipbook of the same clock was moved. */
  goAlong(leader) {
    this.player.chosen = leader.speed();
    this.player.joinAt(leader.atNs, leader.isPlaying);
    this.reporter.moved();
    this.dirty();
  }

  scrollToCursor() {
    const pass = this.score.passes[this.player.step];
    if (pass) this.painter.scrollTo(pass.first + pass.count - 1);
  }

  unfold(unfolded, position) {
    this.unfolded = unfolded;
    this.paintNow(performance.now());
    this.parts.scroller.scrollLeft = unfolded ? position * this.painter.layout.pitch : 0;
    this.dirty();
  }

  hover(position) {
    if (position === this.hoverColumn) return;
    this.hoverColumn = position;
    this.dirty();
  }

  toggleTable() {
    if (this.hidden || this.glimpse || this.player.last < 0) return;
    const { table, tableButton } = this.parts;
    table.hidden = !table.hidden;
    tableButton.setAttribute("aria-pressed", String(!table.hidden));
    this.shownKey = null;
    this.dirty();
  }

  resize() {
    if (this.root.clientWidth === this.width) return;
    this.width = this.root.clientWidth;
    this.unit = this.unitNow();
    this.dirty();
  }

  unitNow() {
    return unitFor(this.width, parseFloat(getComputedStyle(document.documentElement).fontSize));
  }

  /** Draw at the next frame. */
  dirty() {
    if (!this.frameRequest) this.frameRequest = requestAnimationFrame((now) => this.onFrame(now));
  }

  onFrame(now) {
    this.frameRequest = 0;
    if (!this.score || this.width === 0) return;
    const wasMoving = this.player.isMoving;
    this.player.tick(now);
    this.paintNow(now);
    if (wasMoving && !this.player.isMoving) this.repeatGlimpse();
    const breathes = this.scene.stage === "reading" && !this.isReduced();
    if (this.player.isMoving || breathes) this.dirty();
  }

  paintNow(now) {
    this.scene = sceneOf(this, now);
    const key = sceneKey(this.scene);
    if (key !== this.shownKey) this.write(key);
    this.painter.paint(this.scene, now);
    showUnfold(this.parts, this.scene, this.painter.layout);
  }

  /** Everything on the page that is words. */
  write(key) {
    const { parts, scene, root } = this;
    this.shownKey = key;
    root.dataset.size = sizeOf(this.width);
    root.dataset.stage = scene.stage;
    root.style.setProperty("--fb-unit", String(this.unit));
    caption(parts, scene);
    describeScore(parts, scene);
    if (scene.stage === "glimpse") showPlay(parts, scene);
    if (scene.stage !== "passes") return;
    showOdds(parts, scene);
    showMemory(parts, scene);
    showTimeLegend(parts, scene);
    showControls(parts, scene);
    if (parts.table.hidden) return;
    this.table ??= new RunTable(parts.table, this.words, scene.spell);
    this.table.update(this.score, scene.step);
  }

  /** For tests: what is on screen, without looking at pixels. */
  get handle() {
    return handleOf(this);
  }

  destroy() {
    leave(this);
    this.socket?.close();
    this.reporter?.cancel();
    clearTimeout(this.again);
    this.observer.disconnect();
    cancelAnimationFrame(this.frameRequest);
    this.frameRequest = 0;
    this.score = null;
  }
}
