"use strict";
// A sample as a tile in a list, and as the card beside the map.

function element(name, text = "", className = "") {
  const node = document.createElement(name);
  node.textContent = text;
  node.className = className;
  return node;
}

function isolated(text) { // right-to-left marks in a name do not reach beyond it
  return element("bdi", text);
}

function thumbnail(sample) {
  const place = picture[sample];
  if (!report.sheet || place < 0) return null;
  const { columns, rows } = report.sheet;
  const image = element("span", "", "thumb");
  image.style.backgroundSize = `${100 * columns}% ${100 * rows}%`;
  const across = columns > 1 ? (100 * (place % columns)) / (columns - 1) : 0;
  const down = rows > 1 ? (100 * Math.floor(place / columns)) / (rows - 1) : 0;
  image.style.backgroundPosition = `${across}% ${down}%`;
  return image;
}

function textOf(sample) {
  return report.texts && picture[sample] >= 0 ? report.texts[picture[sample]] : null;
}

function namesOfColumns(texts) { // if all are rows of a table, such as "age: 41, job: clerk"
  const names = [...(texts[0] ?? "").matchAll(/(?:^|, )([^:,]+): /g)].map(([, name]) => name);
  const isRow = (text) => names.length === pairs(text, names).length || text.endsWith("…");
  return names.length > 1 && texts.every((text) => text.startsWith(`${names[0]}: `) && isRow(text)) ? names : [];
}

function pairs(text, names) { // of a row: each name that is there, and its value
  const starts = [];
  for (const name of names) {
    const before = starts.length ? `, ${name}: ` : `${name}: `;
    const at = text.indexOf(before, starts.at(-1)?.value ?? 0);
    if (at >= 0) starts.push({ name, at, value: at + before.length });
  }
  return starts.map(({ name, value }, i) => [name, text.slice(value, starts[i + 1]?.at)]);
}

const columnNames = namesOfColumns(report.texts ?? []);

function snippet(sample) {
  const text = textOf(sample);
  if (text === null) return null;
  const shown = element("p", "", text.trim() ? "text" : "text blank");
  const cells = columnNames.length ? pairs(text, columnNames) : [];
  shown.append(...cells.flatMap(([name, value], i) => [element("span", `${name}: `, "name"), value + (i < cells.length - 1 ? ", " : "")]));
  if (!cells.length) shown.textContent = text;
  return shown;
}

function row(sample) { // of a table, one line per column; null where there is none
  const text = textOf(sample);
  if (text === null || !columnNames.length) return null;
  const list = element("dl", "", "row");
  for (const [name, value] of pairs(text, columnNames)) {
    const head = element("dt"), cell = element("dd");
    head.append(isolated(name));
    cell.append(isolated(value));
    list.append(head, cell);
  }
  return list;
}

function fileName(sample) { // its last part; the card has all of it
  const name = report.names?.[sample] ?? `#${column.id[sample]}`;
  const shown = element("span", "", "file");
  shown.append(isolated(name.split("/").at(-1)));
  shown.title = name;
  return shown;
}

function tile(sample) {
  const button = element("button", "", "tile");
  button.type = "button";
  button.dataset.id = column.id[sample];
  const labels = element("span", "", "labels");
  if (labelled) labels.append(isolated(className(column.label[sample])));
  if (column.predicted[sample] !== column.label[sample]) {
    const other = element("span", " → ", "was");
    other.append(isolated(className(column.predicted[sample])));
    labels.append(other);
  }
  button.append(...[thumbnail(sample), snippet(sample), labels, fileName(sample)].filter(Boolean));
  button.addEventListener("click", () => showCard(sample));
  button.addEventListener("focus", () => showCard(sample));
  return button;
}

function fill(list, samples) {
  list.classList.toggle("words", Boolean(report.texts));
  list.replaceChildren(...samples.map(tile));
}

function drawn(name, attributes, text = "") {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [attribute, value] of Object.entries(attributes)) node.setAttribute(attribute, value);
  node.textContent = text;
  return node;
}

function trajectory(sample) {
  const epochs = report.epochs.length;
  const belief = column.beliefs.subarray(sample * epochs, (sample + 1) * epochs);
  const svg = drawn("svg", { viewBox: "-13 -5 118 52", role: "img", "aria-label": labelled ? "The label's probability by epoch" : "p by epoch" });
  const first = report.epochs[0], last = report.epochs.at(-1);
  const labels = [[-2, 2, "1", "end"], [-2, 19, "0.5", "end"], [-2, 36, "0", "end"], [0, 44, first, "start"], [50, 44, "epoch", "middle"]];
  if (last > first) labels.push([100, 44, last, "end"]);
  for (const [x, y, text, anchor] of labels) svg.append(drawn("text", { x, y, "text-anchor": anchor }, text));
  const points = [...belief.keys()].filter((i) => belief[i] !== 255)
    .map((i) => `${(100 * i) / Math.max(epochs - 1, 1)},${34 - (34 * belief[i]) / 254}`);
  for (const height of [0, 17, 34]) svg.append(drawn("polyline", { points: `0,${height} 100,${height}`, class: "scale" }));
  svg.append(drawn("polyline", { points: points.join(" "), class: "curve" }));
  return svg;
}

function showCard(sample) {
  const facts = {
    id: String(column.id[sample]),
    ...(report.names ? { name: report.names[sample] } : {}),
    ...(labelled ? { label: className(column.label[sample]) } : {}),
    ...(report.judged ? { predicted: className(column.predicted[sample]) } : {}),
    confidence: column.confidence[sample].toFixed(3),
    variability: column.variability[sample].toFixed(3),
    [report.scoreName]: column.score[sample].toPrecision(3),
    ...(report.judged ? { "label quality": column.quality[sample].toFixed(3) + (column.suspect[sample] ? ", suspect" : "") } : {}),
    ...(column.kept ? { kept: column.kept[sample] ? "yes" : "no" } : {}),
  };
  const table = element("table");
  for (const [name, value] of Object.entries(facts)) {
    const row = table.insertRow();
    const head = element("th", name);
    head.scope = "row";
    row.append(head);
    row.insertCell().append(isolated(value));
  }
  const caption = labelled ? "probability of the label, by epoch" : "p = exp(-loss), by epoch";
  const hidden = (report.sheet || report.texts) && picture[sample] < 0;
  const notice = hidden ? element("p", `The page has ${report.sheet ? "pictures" : "texts"} of ${grouped(report.pictured.length)} samples, not of this one.`, "hint") : null;
  const parts = [thumbnail(sample), row(sample) ?? snippet(sample), notice, table, element("p", caption, "hint"), trajectory(sample)];
  const card = document.getElementById("card");
  card.dataset.id = column.id[sample];
  card.replaceChildren(...parts.filter(Boolean));
  for (const shown of document.querySelectorAll(".tile[aria-current]")) shown.removeAttribute("aria-current");
  for (const shown of document.querySelectorAll(`.tile[data-id="${column.id[sample]}"]`)) shown.setAttribute("aria-current", "true");
  openPanel(card);
  map.point(sample);
}

function openPanel(part) { // which is always in view: beside the page, or on a phone at its bottom
  const panel = document.getElementById("panel");
  panel.dataset.open = "yes";
  panel.scrollTop = Math.min(part.offsetTop, part.offsetTop + part.offsetHeight - panel.clientHeight);
}
