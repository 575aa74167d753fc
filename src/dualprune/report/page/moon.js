"use strict";
// The map: points painted as one image inside Bokeh's axes, and found under the pointer.

const SCORE_RAMP = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
const QUIET = [154, 163, 178], LOUD = [200, 55, 78];

function between(ramp, share) {
  const place = Math.min(Math.max(share, 0), 1) * (ramp.length - 1);
  const low = Math.min(Math.floor(place), ramp.length - 2);
  return ramp[low].map((value, i) => Math.round(value + (place - low) * (ramp[low + 1][i] - value)));
}

function oklab(color) { // a space in which distances are as they look
  const [r, g, b] = color.map((c) => (c > 10 ? ((c / 255 + 0.055) / 1.055) ** 2.4 : c / 255 / 12.92));
  const [l, m, s] = [0.4122 * r + 0.5363 * g + 0.0514 * b, 0.2119 * r + 0.6807 * g + 0.1074 * b, 0.0883 * r + 0.2817 * g + 0.63 * b].map(Math.cbrt);
  return [0.2105 * l + 0.7936 * m - 0.0041 * s, 1.978 * l - 2.4286 * m + 0.4506 * s, 0.0259 * l + 0.7828 * m - 0.8087 * s];
}

const squaredDistance = (one, other) => one.reduce((sum, value, i) => sum + (value - other[i]) ** 2, 0);

function distinctColors(wanted) { // each as far as can be from those before it, and readable on light and dark
  const levels = Array.from({ length: 16 }, (_, i) => 17 * i);
  const colors = levels.flatMap((r) => levels.flatMap((g) => levels.map((b) => [r, g, b])));
  const candidates = colors.map((color) => ({ color, seen: oklab(color), nearest: Infinity }))
    .filter(({ seen: [light, a, b] }) => light > 0.45 && light < 0.83 && Math.hypot(a, b) > 0.08 && Math.hypot(a, b) < 0.23);
  const picked = [];
  for (let next = candidates.find(({ color }) => color.join() === "51,119,221"); picked.length < wanted; next = candidates.reduce((far, c) => (c.nearest > far.nearest ? c : far))) {
    picked.push(next.color);
    for (const c of candidates) c.nearest = Math.min(c.nearest, squaredDistance(c.seen, next.seen));
  }
  return picked;
}

const CLASS_COLORS = distinctColors(Math.min(report.classes.length, 256));
const classColor = (label) => (label < 0 ? QUIET : CLASS_COLORS[label % CLASS_COLORS.length]);

const faint = (color) => ((color & 0xffffff) | 0x30000000) >>> 0;
const packed = ([red, green, blue]) => (0xff000000 | (blue << 16) | (green << 8) | red) >>> 0;

// Which color each point has, and which are painted last.
function painting(mode, kept, oneClass) {
  const marked = { kept, suspect: column.suspect, class: oneClass < 0 ? null : column.label.map((l) => l === oneClass) }[mode];
  if (marked) return { colors: Uint32Array.from(marked, (is) => packed(is ? LOUD : QUIET)), marked };
  if (mode === "class") return { colors: Uint32Array.from(column.label, (label) => packed(classColor(label))) };
  const [low, high] = scoreLimits();
  const wheel = Array.from({ length: 256 }, (_, i) => packed(between(SCORE_RAMP, i / 255)));
  const shade = (s) => (Number.isNaN(s) ? packed(QUIET) : wheel[Math.round(255 * Math.min(Math.max((s - low) / (high - low || 1), 0), 1))]);
  return { colors: Uint32Array.from(column.score, shade) };
}

function scoreLimits() { // without the highest hundredth, which would leave the rest in one color
  const sorted = column.score.filter((s) => Number.isFinite(s)).sort();
  return [sorted[0] ?? 0, sorted[Math.floor(0.99 * (sorted.length - 1))] ?? 1];
}

class MoonMap {
  constructor(plot, document_) {
    this.plot = plot;
    this.raster = document_.get_model_by_name("raster");
    this.here = document_.get_model_by_name("here");
    this.density = document_.get_model_by_name("density");
    this.beta = document_.get_model_by_name("beta");
    this.NDArray = this.raster.data.image[0].constructor;
    this.painting = { colors: new Uint32Array(count) };
    this.at = -1;
    const repaint = () => this.paint();
    for (const range of [plot.x_range, plot.y_range]) range.change.connect(repaint);
    for (const size of ["inner_width", "inner_height"]) plot.properties[size].change.connect(repaint);
  }

  color(painting_) {
    this.painting = painting_;
    this.paint();
  }

  paint() {
    cancelAnimationFrame(this.waiting);
    this.waiting = requestAnimationFrame(() => this.paintNow());
  }

  frame() {
    const { x_range, y_range, inner_width, inner_height } = this.plot;
    return { x: x_range.start, y: y_range.start, w: x_range.end - x_range.start, h: y_range.end - y_range.start, inner_width, inner_height };
  }

  paintNow() {
    const { x, y, w, h, inner_width, inner_height } = this.frame();
    const wide = Math.round(inner_width * devicePixelRatio), tall = Math.round(inner_height * devicePixelRatio);
    if (wide < 1 || tall < 1) return;
    const pixels = new Uint32Array(wide * tall);
    const radius = devicePixelRatio * (count > 20000 ? 1.3 : count > 3000 ? 2 : 3.5);
    const { colors, marked, listed } = this.painting;
    let painted = 0;
    for (const pass of [0, 1, 2, 3].slice(0, listed ? 4 : marked ? 2 : 1)) { // what is marked and what is listed, on top
      for (let i = 0; i < count; i++) {
        if ((listed?.[i] ? 2 : 0) + (marked?.[i] ? 1 : 0) !== pass) continue;
        const across = ((column.variability[i] - x) / w) * wide, up = ((column.confidence[i] - y) / h) * tall;
        if (!(across >= 0 && across < wide && up >= 0 && up < tall)) continue;
        disc(pixels, wide, tall, across, up, radius, listed && pass < 2 ? faint(colors[i]) : colors[i]);
        painted++;
      }
    }
    document.getElementById("moon").dataset.painted = painted;
    this.raster.data = { image: [new this.NDArray(pixels, [tall, wide])], x: [x], y: [y], w: [w], h: [h] };
  }

  nearest(x, y, reach = Infinity, among = () => true) {
    const { w, h, inner_width, inner_height } = this.frame();
    let best = -1, least = reach ** 2;
    for (let i = 0; i < count; i++) {
      if (!among(i)) continue;
      const across = ((column.variability[i] - x) / w) * inner_width, up = ((column.confidence[i] - y) / h) * inner_height;
      const distance = across * across + up * up;
      if (distance < least) [best, least] = [i, distance];
    }
    return best;
  }

  under(x, y) { // the pointer; where points are dense, one with a picture is preferred to the nearest
    const pictured = this.nearest(x, y, 5, (i) => picture[i] >= 0);
    return pictured >= 0 ? pictured : this.nearest(x, y, 12);
  }

  step(right, up) { // the nearest point in a direction, those straight ahead first
    const { x, w, h, inner_width, inner_height } = this.frame();
    const placed = column.confidence[this.at] >= 0; // neither at the start nor at a sample that was never seen
    if (!placed) return this.nearest(x + w / 2, 0.5);
    let best = this.at, least = Infinity;
    for (let i = 0; i < count; i++) {
      const dx = ((column.variability[i] - column.variability[this.at]) / w) * inner_width;
      const dy = ((column.confidence[i] - column.confidence[this.at]) / h) * inner_height;
      const ahead = dx * right + dy * up, aside = Math.abs(dx * up) + Math.abs(dy * right);
      if (ahead > 3 && ahead + 3 * aside < least) [best, least] = [i, ahead + 3 * aside];
    }
    return best;
  }

  inside({ x, y }) { // of an outline; a ray to the right crosses it an odd number of times
    const low = Math.min(...y), high = Math.max(...y), samples = [];
    for (let i = 0; i < count; i++) {
      const px = column.variability[i], py = column.confidence[i];
      if (py < low || py > high) continue;
      let odd = false;
      for (let a = 0, b = x.length - 1; a < x.length; b = a++) {
        if (y[a] > py !== y[b] > py && px < ((x[b] - x[a]) * (py - y[a])) / (y[b] - y[a]) + x[a]) odd = !odd;
      }
      if (odd) samples.push(i);
    }
    return samples;
  }

  point(sample) {
    this.at = sample;
    this.here.data = { x: [column.variability[sample]], y: [column.confidence[sample]] };
  }

  drawDensity(share) {
    const [a, b] = betaParameters(share);
    const confidence = Array.from({ length: 200 }, (_, i) => (i + 0.5) / 200);
    const logs = confidence.map((p) => logDensity(p, a, b));
    const most = Math.max(...logs);
    const heights = logs.map((log) => Math.exp(log - most)), area = heights.reduce((sum, height) => sum + height, 0) / 200;
    this.density.data = { confidence, density: heights.map((height) => height / area) };
    this.beta.x_range.end = 1.1 / area;
  }
}

function disc(pixels, wide, tall, across, up, radius, color) {
  const left = Math.max(0, Math.ceil(across - radius)), right = Math.min(wide - 1, Math.floor(across + radius));
  const bottom = Math.max(0, Math.ceil(up - radius)), top = Math.min(tall - 1, Math.floor(up + radius));
  for (let v = bottom; v <= top; v++) {
    for (let u = left; u <= right; u++) {
      if ((u - across) ** 2 + (v - up) ** 2 <= radius * radius) pixels[v * wide + u] = color;
    }
  }
}
