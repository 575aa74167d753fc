"use strict";
// What DUAL with Beta sampling keeps at another share: the library's rule, random numbers and roundings.

function betaParameters(share, cD = cDAt(share)) {
  const { mu, concentration } = report.whatIf;
  const b = concentration * (1 - mu) * (1 - (1 - share) ** cD);
  return [concentration - b + 1, b];
}

const clipped = (p) => Math.min(Math.max(p, 1e-12), 1 - 1e-12);
const logDensity = (p, a, b) => (a - 1) * Math.log(clipped(p)) + (b - 1) * Math.log1p(-clipped(p));

const found = { share: NaN, cD: NaN };

function cDAt(share) { // as it was asked for, or found so that the choice is a little easier than all samples
  if (report.whatIf.cD !== null) return report.whatIf.cD;
  if (found.share !== share) Object.assign(found, { share, cD: findCD(share) });
  return found.cD;
}

function findCD(share) {
  const { slope, limits, steps } = report.whatIf.ease, all = column.meanConfidence ?? column.confidence;
  const scored = [...all.keys()].filter((i) => !Number.isNaN(column.keys[i]));
  const confidence = scored.map((i) => all[i]), mean = sum(confidence) / scored.length;
  const wanted = mean + slope * (1 - share) ** 2 * (1 - mean);
  let [easy, hard] = limits.map(Math.log2);
  for (let step = 0; step < steps; step++) {
    const middle = (easy + hard) / 2, [a, b] = betaParameters(share, 2 ** middle);
    const logs = scored.map((i, at) => column.logScore[i] + logDensity(confidence[at], a, b));
    if (expectedConfidence(logs, confidence, share * count) > wanted) easy = middle;
    else hard = middle;
  }
  return Number((2 ** ((easy + hard) / 2)).toPrecision(2));
}

function expectedConfidence(logs, confidence, k) { // of k samples drawn by these weights, without a draw
  const drawn = [...logs.keys()].filter((i) => logs[i] > -Infinity), values = drawn.map((i) => confidence[i]);
  if (k >= drawn.length) return drawn.length ? sum(values) / drawn.length : sum(confidence) / confidence.length;
  const chances = timesOf(drawn.map((i) => logs[i]), k).map((time) => -Math.expm1(-time));
  return sum(chances.map((chance, i) => chance * values[i])) / sum(chances);
}

function timesOf(logs, k) { // t w with sum(1 - exp(-t w)) = k: Newton's steps for ln t between two bounds
  const ends = logs.reduce(([least, most], log) => [Math.min(least, log), Math.max(most, log)], [Infinity, -Infinity]);
  let low = Math.log(k / sum(logs.map((log) => Math.exp(log - ends[1]))));
  let high = Math.log(-Math.log1p(-k / logs.length)) - (ends[0] - ends[1]), at = low, times;
  for (let step = 0; step < 100; step++) {
    times = logs.map((log) => Math.exp(Math.min(at + (log - ends[1]), 100)));
    const left = times.map((time) => Math.exp(-time)), missing = k - (logs.length - sum(left));
    if (Math.abs(missing) <= 1e-9 * k) break;
    if (missing > 0) low = at;
    else high = at;
    at += missing / sum(times.map((time, i) => time * left[i]));
    if (!(low < at && at < high)) at = (low + high) / 2;
  }
  return times;
}

const order = (values) => [...values.keys()].sort((one, other) => values[one] - values[other]);

function halfToEven(value) {
  const rounded = Math.round(value);
  return rounded - value === 0.5 && rounded % 2 ? rounded - 1 : rounded;
}

function proportional(sizes, k) { // the largest remainders get what rounding left
  const total = sum(sizes), remainders = sizes.map((size) => (size * k) % total);
  const quotas = sizes.map((size, group) => (size * k - remainders[group]) / total);
  for (const group of order(remainders.map((rest) => -rest)).slice(0, k - sum(quotas))) quotas[group]++;
  return quotas;
}

function even(sizes, k) { // from the smallest group to the largest, each its share of what is left
  const quotas = [];
  order(sizes).forEach((group, visited) => {
    quotas[group] = Math.min(sizes[group], Math.floor(k / (sizes.length - visited)));
    k -= quotas[group];
  });
  return quotas;
}

function partsOfFair(sizes, k, share) { // rounded up as far as k goes
  const total = sum(sizes);
  const wanted = sizes.map((size) => halfToEven(((share * k) / total) * size * 1e6) / 1e6);
  const quotas = wanted.map(Math.floor);
  for (const group of order(quotas.map((quota, i) => quota - wanted[i])).slice(0, k - sum(quotas))) quotas[group] = Math.ceil(wanted[group]);
  return quotas;
}

function quotasOf(sizes, k) { // what each class has for sure
  const { balance, floor, floorIsShare } = report.whatIf;
  if (balance !== "none") return balance === "proportional" ? proportional(sizes, k) : even(sizes, k);
  if (floorIsShare) return partsOfFair(sizes, k, floor);
  const least = Math.round((floor * count) / report.samples); // where a part is drawn, its part
  return sizes.map((size) => Math.min(size, least));
}

function scoredByClass() { // positions, the classes in the order of their numbers
  const groups = new Map();
  for (let i = 0; i < count; i++) {
    if (Number.isNaN(column.keys[i])) continue;
    if (!groups.has(column.label[i])) groups.set(column.label[i], []);
    groups.get(column.label[i]).push(i);
  }
  return [...groups.keys()].sort((one, other) => one - other).map((label) => groups.get(label));
}

const scoredGroups = report.whatIf ? scoredByClass() : [];
const groupSizes = scoredGroups.map((members) => members.length);
const unscored = count - sum(groupSizes);

function keepSmallest(kept, keys, members, k) {
  if (k < 1) return;
  const limit = Float64Array.from(members, (i) => keys[i]).sort()[k - 1];
  for (const i of members) if (keys[i] <= limit) kept[i] = 1;
}

function keptOf(k) {
  const confidence = column.meanConfidence ?? column.confidence, [a, b] = betaParameters(k / count);
  const keys = column.keys.map((key, i) => key - logDensity(confidence[i], a, b));
  const withoutScore = report.whatIf.keepsUnscored;
  const kept = Uint8Array.from(keys, (key) => withoutScore && Number.isNaN(key));
  const left = k - (withoutScore ? unscored : 0), quotas = quotasOf(groupSizes, left);
  scoredGroups.forEach((members, group) => keepSmallest(kept, keys, members, quotas[group]));
  keepSmallest(kept, keys, scoredGroups.flat().filter((i) => !kept[i]), left - sum(quotas));
  return kept;
}

function countLimits() { // between which the library can choose
  const { balance, floorIsShare, keepsUnscored } = report.whatIf;
  const sure = balance === "none" && !floorIsShare ? sum(quotasOf(groupSizes, count)) : 0;
  return [Math.max(1, sure + (keepsUnscored ? unscored : 0)), keepsUnscored ? count : count - unscored];
}

function keptAt(share) {
  const [least, most] = countLimits();
  return keptOf(Math.min(Math.max(Math.round(share * count), least), most));
}
