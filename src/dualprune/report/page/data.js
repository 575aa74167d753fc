"use strict";
// The samples shown, as typed arrays by position.

const report = JSON.parse(document.getElementById("data").textContent);

function decode({ kind, base64 }) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i); // Uint8Array.from took half of the time until the page could be used
  return new globalThis[kind](bytes.buffer);
}

const column = Object.fromEntries(Object.entries(report.columns).map(([name, packed]) => [name, decode(packed)]));
const count = column.id.length;
const picture = new Int32Array(count).fill(-1); // position on the sheet, or among the texts
report.pictured.forEach((sample, place) => { picture[sample] = place; });

const labelled = report.classes.length > 0;
const className = (label) => (label < 0 ? "unknown" : report.classes[label]);
const percent = (share) => `${(100 * share).toFixed(1)} %`;
const grouped = (number) => number.toLocaleString("en-US");

// What Beta sampling of DUAL keeps at a share, by the same rule and the same random numbers as the library:
// the smallest of ln(-ln u) - ln s - ln density(confidence).
function betaParameters(share) {
  const { mu, cD, concentration } = report.whatIf;
  const b = concentration * (1 - mu) * (1 - (1 - share) ** cD);
  return [concentration - b + 1, b];
}

const clipped = (p) => Math.min(Math.max(p, 1e-12), 1 - 1e-12);
const logDensity = (p, a, b) => (a - 1) * Math.log(clipped(p)) + (b - 1) * Math.log1p(-clipped(p));

function keptAt(share) {
  const budget = Math.max(1, Math.round(share * count));
  const [a, b] = betaParameters(budget / count);
  const keys = column.keys.map((key, i) => key - logDensity(column.confidence[i], a, b));
  const scored = keys.filter((key) => !Number.isNaN(key)).sort();
  const limit = scored[Math.min(budget, scored.length) - 1]; // what has no score is never kept
  return Uint8Array.from(keys, (key) => key <= limit);
}
