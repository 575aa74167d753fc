"use strict";
// The controls of the page.

let map;
let kept = column.kept ?? null;
let chosen = [];
const byId = (id) => document.getElementById(id);

function legend(mode, oneClass) {
  const line = byId("legend");
  const swatch = (color) => {
    const square = element("span", "", "swatch");
    square.style.background = `rgb(${color.join()})`;
    return square;
  };
  if (mode === "score") {
    const ramp = element("span", "", "ramp");
    ramp.style.background = `linear-gradient(to right, ${SCORE_RAMP.map((color) => `rgb(${color.join()})`).join()})`;
    const [low, high] = scoreLimits();
    line.replaceChildren(`${report.scoreName}: ${low.toPrecision(2)} `, ramp, ` ${high.toPrecision(2)} and more`);
  } else if (mode === "class" && oneClass < 0) {
    const shown = report.classes.slice(0, 100).map((name, label) => {
      const button = element("button", "", "plain");
      button.type = "button";
      button.append(swatch(classColor(label)), isolated(name));
      button.addEventListener("click", () => { byId("class").value = label; recolor(); });
      return button;
    });
    line.replaceChildren(...shown, report.classes.length > 100 ? ` and ${report.classes.length - 100} more` : "");
  } else {
    const name = { kept: "kept", suspect: "suspect label", class: className(oneClass) }[mode];
    line.replaceChildren(swatch(LOUD), isolated(name), " ", swatch(QUIET), "others");
  }
}

function recolor() {
  const mode = document.querySelector("input[name=color]:checked").value;
  if (mode === "kept" && !kept) return byId("share").dispatchEvent(new Event("input")); // nothing was chosen yet
  const oneClass = Number(byId("class").value);
  byId("one-class").hidden = mode !== "class";
  const listed = chosen.length ? new Uint8Array(count) : null;
  for (const sample of chosen) listed[sample] = 1;
  map.color({ ...painting(mode, kept, oneClass), listed });
  legend(mode, oneClass);
}

function choose(samples) {
  chosen = samples;
  byId("chosen").hidden = samples.length === 0;
  const counted = (name, mask) => (mask ? `, ${grouped(samples.filter((i) => mask[i]).length)} ${name}` : "");
  const shown = [...samples].sort((a, b) => (picture[b] >= 0) - (picture[a] >= 0)).slice(0, 240);
  const part = shown.length < samples.length ? `; ${shown.length} of them below` : "";
  byId("chosen-title").textContent = `${grouped(samples.length)} chosen${counted("kept", kept)}${counted("with a suspect label", report.judged && column.suspect)}${part}`;
  const file = byId("chosen-file");
  URL.revokeObjectURL(file.href);
  file.href = URL.createObjectURL(new Blob([listOf(samples)], { type: "text/csv" }));
  fill(byId("chosen-tiles"), shown);
  openPanel(byId("chosen"));
  recolor();
}

function listOf(samples) { // as CSV; a quote goes before what a spreadsheet would take for a formula
  const cell = (text) => `"${text.replace(/^[=+\-@\t\r]/, "'$&").replaceAll('"', '""')}"`;
  const row = (i) => [column.id[i], ...(report.names ? [cell(report.names[i])] : []), ...(labelled ? [cell(className(column.label[i]))] : [])];
  const head = ["id", ...(report.names ? ["name"] : []), ...(labelled ? ["label"] : [])];
  return [head, ...samples.map(row)].map((cells) => `${cells.join()}\n`).join("");
}

function listenToMap(plot) {
  plot.on_event("mousemove", ({ x, y }) => {
    const sample = map.under(x, y);
    if (sample >= 0 && sample !== map.at) showCard(sample);
  });
  plot.on_event("tap", ({ x, y }) => {
    const sample = map.nearest(x, y, 20);
    if (sample >= 0) showCard(sample);
  });
  plot.on_event("selectiongeometry", ({ geometry, final }) => {
    if (!final || geometry.type !== "poly") return;
    choose(map.inside(geometry));
    if (TOUCH.matches) restLasso(plot);
  });
  byId("moon").addEventListener("keydown", (event) => {
    const [from] = event.composedPath();
    if (from !== event.currentTarget && !from.matches(".bk-events")) return; // a button of the toolbar
    const direction = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (direction) {
      const next = map.step(...direction);
      if (next >= 0) showCard(next);
    }
    else if (event.key === "Enter" && map.at >= 0) choose([...new Set([...chosen, map.at])]);
    else return;
    event.preventDefault();
  });
}

function describeShare(share, mask) { // and give how many samples that is
  const held = sum(mask), suspects = sum(column.suspect), all = count === report.samples;
  const size = all ? held : Math.max(1, Math.round(share * report.samples));
  const mean = mask.reduce((total, is, i) => total + (is ? column.confidence[i] : 0), 0) / held;
  const parts = [`${all ? "" : "about "}${grouped(size)} samples of mean confidence ${mean.toFixed(2)}`];
  if (suspects) parts.push(`among them ${percent(mask.reduce((total, is, i) => total + is * column.suspect[i], 0) / suspects)} of all suspect labels`);
  byId("share-value").textContent = percent(share);
  byId("share-result").textContent = `${parts.join(", ")}. Knobs: c_d ${cDAt(held / count)}, concentration ${report.whatIf.concentration}.`;
  return size;
}

function listenToShare() {
  const slider = byId("share"), back = byId("share-back");
  const { share: start } = report.whatIf, [least, most] = countLimits();
  slider.min = Math.max((100 * least) / count, Math.min(1, 100 * start));
  slider.max = (100 * most) / count;
  const show = (share, mask) => {
    map.drawDensity(sum(mask) / count);
    return describeShare(share, mask);
  };
  slider.value = 100 * start;
  show(start, keptAt(start));
  slider.addEventListener("input", () => {
    const share = slider.value / 100;
    kept = keptAt(share);
    const size = show(share, kept);
    for (const number of document.querySelectorAll(".count")) number.textContent = size === 1 ? "01" : size; // a bare 1 could be a share
    byId("share-command")?.classList.remove("idle");
    document.querySelector("input[value=kept]").checked = true;
    if (back) back.hidden = false;
    recolor();
  });
  back?.addEventListener("click", () => {
    kept = column.kept;
    slider.value = 100 * start;
    show(start, keptAt(start));
    byId("share-command")?.classList.add("idle");
    back.hidden = true;
    recolor();
  });
}

function applyTheme(plots) { // the page's colors, dark or light
  const style = getComputedStyle(document.documentElement);
  const [ink, line, panel] = ["--quiet", "--line", "--panel"].map((name) => style.getPropertyValue(name).trim());
  for (const plot of plots) {
    plot.setv({ background_fill_color: panel, border_fill_color: panel, outline_line_color: line, border_line_color: null });
    for (const axis of [...plot.below, ...plot.left]) {
      axis.setv({ axis_label_text_color: ink, axis_label_text_font_style: "normal", major_label_text_color: ink, axis_line_color: line, major_tick_line_color: line, minor_tick_line_color: null });
    }
    for (const grid of plot.center) grid.setv?.({ grid_line_color: line });
  }
}

const TOUCH = matchMedia("(pointer: coarse)");

function restLasso(plot) { // so that a finger scrolls the page; the toolbar has the lasso
  for (const tool of plot.toolbar.tools) if (tool.type === "LassoSelectTool") tool.active = false;
}

async function start() {
  Bokeh.require("core/ui_gestures").UIGestures.press_threshold = 2 ** 31 - 1; // ms; after it a lasso would not start
  await Promise.all(report.charts.map((item) => Bokeh.embed.embed_item(item)));
  const models = Bokeh.documents.flatMap((opened) => [...opened._all_models.values()]);
  const plots = models.filter((model) => model.type === "Figure");
  const moon = plots.find((plot) => plot.name === "moon");
  map = new MoonMap(moon, moon.document);
  const select = byId("class");
  select.append(new Option("all classes", -1), ...report.classes.map((name, label) => new Option(name, label)));
  for (const list of document.querySelectorAll("[data-list]")) fill(list, report.lists[list.dataset.list]);
  for (const control of [...document.querySelectorAll("input[name=color]"), select]) control.addEventListener("change", recolor);
  document.querySelector(column.kept ? "input[value=kept]" : "input[value=score]").checked = true;
  listenToMap(moon);
  if (TOUCH.matches) restLasso(moon);
  if (innerWidth < 800) for (const plot of [moon, map.beta]) plot.height = 400;
  if (report.whatIf) listenToShare();
  byId("chosen-clear").addEventListener("click", () => choose([]));
  byId("panel-close").addEventListener("click", () => delete byId("panel").dataset.open);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", () => applyTheme(plots));
  applyTheme(plots);
  recolor();
  document.documentElement.dataset.ready = Math.round(performance.now());
}

start();
