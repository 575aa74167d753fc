"use strict";
// What DUAL with Beta sampling keeps at another share: the library's rule, random numbers and roundings.

function betaParameters(share, cD = cDAt(share)) {
  const { mu, concentration } = report.whatIf;
  const b = concentration * (1 - mu) * (1 - (1 - share) ** cD);
  return [concentration - b + 1, b];
}

const clipped = (p) => Math.min(Math.max(p, 1e-12), 1 - 1e-12);
const logDensity = (p, a, b) => (a - 1) * Math.log(clipped(p)) + (b - 1) * Math.log1p(-clipped(p));

const last = { share: NaN, cD: NaN };
let standIns = null;

function cDAt(share) { // as it was asked for, or found so that the choice is as easy as it should be
  if (report.whatIf.cD !== null) return report.whatIf.cD;
  if (last.share !== share) Object.assign(last, { share, cD: findCD(share) });
  return last.cD;
}

function findCD(share) {
  const { limits, steps, enough } = report.whatIf.ease;
  standIns ??= thoseThatStandForAll();
  const { logScore, logP, logRest } = standIns, logs = new Float64Array(logScore.length);
  const wanted = wantedConfidence(share);
  let [easy, hard] = limits.map(Math.log2);
  for (let step = 0; step < steps; step++) {
    const middle = (easy + hard) / 2, [a, b] = betaParameters(share, 2 ** middle);
    for (let i = 0; i < logs.length; i++) logs[i] = logScore[i] + (a - 1) * logP[i] + (b - 1) * logRest[i];
    if (expectedConfidence(logs, share * Math.min(count, enough)) > wanted) easy = middle;
    else hard = middle;
  }
  return Number((2 ** ((easy + hard) / 2)).toPrecision(2));
}

function wantedConfidence(share) { // of what is kept, once some of what the model knew from the beginning is gone
  const { slope, spare } = report.whatIf.ease, { mean, known } = standIns, pruned = 1 - share;
  const gone = Math.min(pruned, spare * known.share);
  const rest = (mean - gone * known.mean) / (1 - gone);
  return rest + slope * pruned ** 2 * (1 - rest);
}

function thoseThatStandForAll() { // means over those with a score; the columns of those with a weight
  const all = column.meanConfidence ?? column.confidence;
  const scored = [...all.keys()].filter((i) => !Number.isNaN(column.logScore[i] + all[i]));
  const weighed = scored.filter((i) => column.logScore[i] > -Infinity);
  const known = scored.filter((i) => all[i] > report.whatIf.ease.known);
  const columnOf = (valueOf) => Float64Array.from(weighed, valueOf);
  const meanOf = (ids) => sum(ids.map((i) => all[i])) / Math.max(ids.length, 1);
  return {
    mean: meanOf(scored),
    known: { share: known.length / scored.length, mean: meanOf(known) },
    confidence: columnOf((i) => all[i]),
    logScore: columnOf((i) => column.logScore[i]),
    logP: columnOf((i) => Math.log(clipped(all[i]))),
    logRest: columnOf((i) => Math.log1p(-clipped(all[i]))),
  };
}

function expectedConfidence(logs, k) { // of k samples drawn by these weights, without a draw
  const { mean, confidence } = standIns;
  if (k >= logs.length) return logs.length ? sum(confidence) / logs.length : mean;
  const times = timesOf(logs, k);
  let total = 0, chances = 0;
  for (let i = 0; i < times.length; i++) {
    const chance = -Math.expm1(-times[i]);
    total += chance * confidence[i];
    chances += chance;
  }
  return total / chances;
}

function timesOf(logs, k) { // t w with sum(1 - exp(-t w)) = k: Newton's steps for ln t between two bounds
  let least = Infinity, most = -Infinity, weights = 0;
  for (const log of logs) [least, most] = [Math.min(least, log), Math.max(most, log)];
  for (const log of logs) weights += Math.exp(log - most);
  let low = Math.log(k / weights), high = Math.log(-Math.log1p(-k / logs.length)) - (least - most), at = low;
  const times = new Float64Array(logs.length);
  for (let step = 0; step < 100; step++) {
    let missing = k - logs.length, slope = 0;
    for (let i = 0; i < times.length; i++) {
      times[i] = Math.exp(Math.min(at + (logs[i] - most), 100));
      const left = Math.exp(-times[i]);
      missing += left;
      slope += times[i] * left;
    }
    if (Math.abs(missing) <= 1e-9 * k) break;
    if (missing > 0) low = at;
    else high = at;
    at += missing / slope;
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
