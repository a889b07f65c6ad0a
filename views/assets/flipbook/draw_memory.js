/** What is kept against the number of tokens, both kinds on one byte axis: one line rises, the other does not. */

import { fill, setFont, stroke } from "./frame.js";
import { crossover, kvBytesPerPosition } from "./score.js";
import { ticksOf } from "../ticks.js";
import { memoryExtent } from "./layout_time.js";

/**
 * @param {import("./frame.js").Frame} frame  its pass is the one shown
 * @param {{width: number, height: number}} size
 */
export function drawMemory(frame, size) {
  const extent = memoryExtent(frame.score);
  if (!extent || !frame.pass) return;
  const plot = plotOf(frame, size, extent);
  drawAxes(frame, plot);
  drawState(frame, plot);
  drawKv(frame, plot);
  drawMeeting(frame, plot);
}

function plotOf(frame, size, extent) {
  const unit = frame.layout.unit;
  const left = 4 * unit;
  const right = size.width - 4 * unit;
  const top = 16 * unit;
  const bottom = size.height - 22 * unit;
  return {
    left,
    right,
    top,
    bottom,
    extent,
    x: (positions) => left + (positions / extent.positions) * (right - left),
    y: (bytes) => bottom - (bytes / extent.bytes) * (bottom - top),
  };
}

function line(x0, y0, x1, y1, path = new Path2D()) {
  path.moveTo(x0, y0);
  path.lineTo(x1, y1);
  return path;
}

function drawAxes(frame, plot) {
  const { ctx, theme, words, layout } = frame;
  const grid = new Path2D();
  const unit = 1024 ** Math.floor(Math.log2(plot.extent.bytes) / 10);
  setFont(frame, 11);
  ctx.fillStyle = theme.ink;
  ctx.textAlign = "left";
  ctx.textBaseline = "bottom";
  ctx.globalAlpha = 0.66;
  for (const tick of ticksOf(plot.extent.bytes / unit, 3).slice(1)) {
    line(plot.left, plot.y(tick * unit), plot.right, plot.y(tick * unit), grid);
    ctx.fillText(words.bytes(tick * unit), plot.left, plot.y(tick * unit) - 1);
  }
  ctx.textAlign = "right";
  ctx.textBaseline = "top";
  const wide = words.say("tokens", { n: plot.extent.positions });
  ctx.fillText(wide, plot.right, plot.bottom + 5 * layout.unit);
  ctx.textAlign = "left";
  ctx.fillText(words.count(0), plot.left, plot.bottom + 5 * layout.unit);
  ctx.globalAlpha = 1;
  stroke(ctx, theme.ink, 0.1, 1, grid);
  stroke(ctx, theme.ink, 0.4, 1, line(plot.left, plot.bottom, plot.right, plot.bottom));
}

function drawState(frame, plot) {
  const { ctx, theme, pass, layout } = frame;
  if (pass.stateBytes === 0) return;
  const y = plot.y(pass.stateBytes);
  stroke(ctx, theme.state, 1, 2.6 * layout.unit, line(plot.left, y, plot.right, y));
  // Square like the state box: told apart by shape from the cache's dot.
  const path = new Path2D();
  const r = 4.5 * layout.unit;
  path.roundRect(plot.x(pass.held) - r, y - r, 2 * r, 2 * r, 2);
  fill(ctx, theme.state, 1, path);
  stroke(ctx, theme.paper, 1, 1.5, path);
}

/** Solid as far as this pass has come, fine where the run goes on, dotted where the formula alone speaks. */
function drawKv(frame, plot) {
  const { ctx, theme, pass, score, layout } = frame;
  const each = kvBytesPerPosition(score);
  if (!each) return;
  const end = score.passes.at(-1).held;
  const at = (positions) => [plot.x(positions), plot.y(each * positions)];
  const unit = layout.unit;
  stroke(ctx, theme.kv, 0.75, 1.6 * unit, line(...at(end), ...at(plot.extent.positions)), [2 * unit, 4 * unit]);
  stroke(ctx, theme.kv, 0.8, 1.6 * unit, line(...at(pass.held), ...at(end)));
  stroke(ctx, theme.kv, 1, 3.6 * unit, line(...at(0), ...at(pass.held)));
  const guide = line(...at(pass.held), plot.x(pass.held), plot.y(pass.stateBytes));
  stroke(ctx, theme.ink, 0.3, 1, guide, [2, 3]);
  const dot = new Path2D();
  dot.arc(plot.x(pass.held), plot.y(pass.kvBytes), 5 * unit, 0, 2 * Math.PI);
  fill(ctx, theme.kv, 1, dot);
  stroke(ctx, theme.paper, 1, 1.5, dot);
}

function drawMeeting(frame, plot) {
  const { ctx, theme, score, words, layout } = frame;
  const positions = crossover(score);
  if (!positions || positions > plot.extent.positions) return;
  const unit = layout.unit;
  const x = plot.x(positions);
  const y = plot.y(score.passes[0].stateBytes);
  const ring = new Path2D();
  ring.arc(x, y, 6 * unit, 0, 2 * Math.PI);
  stroke(ctx, theme.ink, 0.85, 1.6 * unit, ring);
  // Below the flat line and right of the rising one: the one corner that neither crosses.
  setFont(frame, 12, 550);
  ctx.textAlign = "right";
  ctx.textBaseline = "top";
  ctx.fillStyle = theme.ink;
  ctx.globalAlpha = 0.85;
  ctx.fillText(words.say("equal_at"), plot.right, y + 12 * unit);
  ctx.fillText(words.say("tokens", { n: positions }), plot.right, y + 27 * unit);
  ctx.globalAlpha = 1;
}
