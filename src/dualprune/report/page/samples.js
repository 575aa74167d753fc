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

function snippet(sample) {
  return report.texts && picture[sample] >= 0 ? element("p", report.texts[picture[sample]]) : null;
}

function tile(sample) {
  const button = element("button", "", "tile");
  button.type = "button";
  button.dataset.id = column.id[sample];
  button.append(...[thumbnail(sample), snippet(sample)].filter(Boolean), isolated(className(column.label[sample])));
  if (column.predicted[sample] !== column.label[sample]) {
    const other = element("span", " → ", "was");
    other.append(isolated(className(column.predicted[sample])));
    button.append(other);
  }
  if (!report.sheet && !report.texts) button.append(` #${column.id[sample]}`);
  button.addEventListener("click", () => showCard(sample));
  button.addEventListener("focus", () => showCard(sample));
  return button;
}

function fill(list, samples) {
  list.classList.toggle("words", Boolean(report.texts));
  list.replaceChildren(...samples.map(tile));
}

function trajectory(sample) {
  const epochs = report.epochs.length;
  const belief = column.beliefs.subarray(sample * epochs, (sample + 1) * epochs);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "-2 -2 104 54");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", "The label's probability by epoch");
  const points = [...belief.keys()].filter((i) => belief[i] !== 255)
    .map((i) => `${(100 * i) / Math.max(epochs - 1, 1)},${50 - (50 * belief[i]) / 254}`);
  for (const [color, corners] of [["var(--line)", "0,0 0,50 100,50"], ["var(--accent)", points.join(" ")]]) {
    const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
    line.setAttribute("points", corners);
    line.setAttribute("fill", "none");
    line.setAttribute("stroke", color);
    line.setAttribute("stroke-width", "2");
    line.setAttribute("vector-effect", "non-scaling-stroke");
    svg.append(line);
  }
  return svg;
}

function showCard(sample) {
  const facts = {
    id: String(column.id[sample]),
    ...(report.names ? { name: report.names[sample] } : {}),
    label: className(column.label[sample]),
    predicted: className(column.predicted[sample]),
    confidence: column.confidence[sample].toFixed(3),
    variability: column.variability[sample].toFixed(3),
    [report.scoreName]: column.score[sample].toPrecision(3),
    "label quality": column.quality[sample].toFixed(3) + (column.suspect[sample] ? ", suspect" : ""),
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
  const caption = `the label's probability, epochs ${report.epochs[0]} to ${report.epochs.at(-1)}`;
  const hidden = (report.sheet || report.texts) && picture[sample] < 0;
  const notice = hidden ? element("p", `The page has ${report.sheet ? "pictures" : "texts"} of ${grouped(report.pictured.length)} samples, not of this one.`, "hint") : null;
  const parts = [thumbnail(sample), snippet(sample), notice, table, trajectory(sample), element("p", caption, "hint")];
  const card = document.getElementById("card");
  card.dataset.id = column.id[sample];
  card.replaceChildren(...parts.filter(Boolean));
  map.point(sample);
}
