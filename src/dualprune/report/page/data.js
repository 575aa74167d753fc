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
const sum = (values) => values.reduce((total, value) => total + value, 0);
