"use strict";
// A sample as a tile in a list, and as the card beside the map.

function element(name, text = "", className = "") {
  const made = document.createElement(name);
  made.textContent = text;
  made.className = className;
  return made;
}

function isolated(text) { // right-to-left marks in a name end with it
  return element("bdi", text);
}

function thumbnail(sample) {
  const place = picture[sample];
  if (!report.sheet || place < 0) return null;
  const { columns, rows } = report.sheet;
  const made = element("span", "", "thumb");
  made.style.backgroundSize = `${100 * columns}% ${100 * rows}%`;
  const across = columns > 1 ? (100 * (place % columns)) / (columns - 1) : 0;
  const down = rows > 1 ? (100 * Math.floor(place / columns)) / (rows - 1) : 0;
  made.style.backgroundPosition = `${across}% ${down}%`;
  return made;
}

function snippet(sample) {
  return report.texts && picture[sample] >= 0 ? element("p", report.texts[picture[sample]]) : null;
}

function tile(sample) {
  const made = element("button", "", "tile");
  made.type = "button";
  made.dataset.id = column.id[sample];
  made.append(...[thumbnail(sample), snippet(sample)].filter(Boolean), isolated(className(column.label[sample])));
  if (column.predicted[sample] !== column.label[sample]) {
    const other = element("span", " → ", "was");
    other.append(isolated(className(column.predicted[sample])));
    made.append(other);
  }
  if (!report.sheet && !report.texts) made.append(` #${column.id[sample]}`);
  made.addEventListener("click", () => showCard(sample));
  made.addEventListener("focus", () => showCard(sample));
  return made;
}

function fill(list, samples) {
  list.classList.toggle("words", Boolean(report.texts));
  list.replaceChildren(...samples.map(tile));
}

function trajectory(sample) {
  const epochs = report.epochs.length;
  const belief = column.beliefs.subarray(sample * epochs, (sample + 1) * epochs);
  const drawn = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  drawn.setAttribute("viewBox", "-2 -2 104 54");
  drawn.setAttribute("preserveAspectRatio", "none");
  drawn.setAttribute("role", "img");
  drawn.setAttribute("aria-label", "The label's probability by epoch");
  const points = [...belief.keys()].filter((i) => belief[i] !== 255)
    .map((i) => `${(100 * i) / Math.max(epochs - 1, 1)},${50 - (50 * belief[i]) / 254}`);
  for (const [kind, color, at] of [["polyline", "var(--line)", "0,0 0,50 100,50"], ["polyline", "var(--accent)", points.join(" ")]]) {
    const line = document.createElementNS("http://www.w3.org/2000/svg", kind);
    line.setAttribute("points", at);
    line.setAttribute("fill", "none");
    line.setAttribute("stroke", color);
    line.setAttribute("stroke-width", "2");
    line.setAttribute("vector-effect", "non-scaling-stroke");
    drawn.append(line);
  }
  return drawn;
}

function showCard(sample) {
  const facts = {
    id: String(column.id[sample]),
    ...(report.names ? { name: report.names[sample] } : {}),
    label: className(column.label[sample]),
    predicted: className(column.predicted[sample]),
    confidence: column.confidence[sample].toFixed(3),
    deviation: column.variability[sample].toFixed(3),
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
  const told = `the label's probability, epochs ${report.epochs[0]} to ${report.epochs.at(-1)}`;
  const bare = (report.sheet || report.texts) && picture[sample] < 0;
  const without = bare ? element("p", `The page shows ${grouped(report.pictured.length)} samples, not this one.`, "hint") : null;
  const parts = [thumbnail(sample), snippet(sample), without, table, trajectory(sample), element("p", told, "hint")];
  const card = document.getElementById("card");
  card.dataset.id = column.id[sample];
  card.replaceChildren(...parts.filter(Boolean));
  map.point(sample);
}
