"""Every formula once more, slowly: plain loops over plain numbers, written from the definitions.

A signal is rows of epochs; NaN is missing, and a sample is scored from what was observed of it.
"""

from fractions import Fraction
from itertools import permutations
from math import fsum, gamma, isnan, nan, prod, sqrt


def mean(values):
    return fsum(values) / len(values) if values else nan


def spread(values, divisor):
    centre = mean(values)
    return sqrt(fsum((value - centre) ** 2 for value in values) / divisor)


def observed(signal, sample):
    return [float(row[sample]) for row in signal if not isnan(row[sample])]


def windows(values, length):
    return [values[start : start + length] for start in range(len(values) - length + 1)]


def of_each_sample(signal, fn):
    return [fn(observed(signal, sample)) for sample in range(len(signal[0]))]


def dual_by_hand(target_prob, window=10):
    def score(values):
        return mean(
            [(1 - mean(part)) * spread(part, window - 1) for part in windows(values, window)]
        )

    return of_each_sample(target_prob, score)


def dyn_unc_by_hand(target_prob, window=10, skip_last=False):
    scores = []
    for sample in range(len(target_prob[0])):
        terms = [
            spread(part, window - 1) for part in windows(observed(target_prob, sample), window)
        ]
        if skip_last and not isnan(target_prob[-1][sample]):
            terms = terms[:-1]
        scores.append(mean(terms))
    return scores


def tdds_by_hand(kl_step, window=10, decay=0.9):
    def score(steps):
        terms = [spread(part, 1) for part in windows(steps, window - 1)]
        weights = [decay * (1 - decay) ** later for later in range(len(terms) - 1, -1, -1)]
        if not terms:
            return nan
        return fsum(weight * term for weight, term in zip(weights, terms, strict=True))

    return of_each_sample(kl_step, score)


def el2n_by_hand(error_norm, over="last"):
    epochs = len(error_norm)
    fold = {
        "last": lambda values: values[-1] if values else nan,
        "mean": mean,
        "sum": lambda values: mean(values) * epochs,
    }
    return of_each_sample(error_norm, fold[over])


def grand_by_hand(grand_norm, over="last"):
    return el2n_by_hand(grand_norm, over)


def entropy_by_hand(entropy):
    return of_each_sample(entropy, lambda values: values[-1] if values else nan)


def forgetting_by_hand(correct, never_learned="max"):
    epochs = len(correct)

    def score(values):
        if not values:
            return nan
        if 1 not in values:
            return {"max": epochs, "zero": 0}[never_learned]
        return sum(before == 1 and now == 0 for before, now in windows(values, 2))

    return of_each_sample(correct, score)


def aum_by_hand(margin, keep="hard"):
    sign = {"hard": -1, "easy": 1}[keep]
    return of_each_sample(margin, lambda values: sign * mean(values))


def aum_prob_by_hand(prob_margin, keep="hard"):
    return aum_by_hand(prob_margin, keep)


def confidence_by_hand(target_prob):
    return of_each_sample(target_prob, mean)


def variability_by_hand(target_prob):
    return of_each_sample(
        target_prob, lambda values: spread(values, len(values)) if values else nan
    )


ORACLES = {
    "dual": dual_by_hand,
    "dyn_unc": dyn_unc_by_hand,
    "el2n": el2n_by_hand,
    "grand": grand_by_hand,
    "forgetting": forgetting_by_hand,
    "aum": aum_by_hand,
    "aum_prob": aum_prob_by_hand,
    "entropy": entropy_by_hand,
    "tdds": tdds_by_hand,
    "confidence": confidence_by_hand,
    "variability": variability_by_hand,
}


def beta_parameters_by_hand(mu, pruned, c_d, concentration=15):
    b = concentration * (1 - mu) * (1 - pruned**c_d)
    return concentration - b + 1, b


def beta_weights_by_hand(scores, confidence, mu, pruned, c_d, concentration=15):
    """Score times Beta density, normalised to a sum of 1."""
    a, b = beta_parameters_by_hand(mu, pruned, c_d, concentration)
    constant = gamma(a + b) / (gamma(a) * gamma(b))
    weights = [
        score * constant * p ** (a - 1) * (1 - p) ** (b - 1)
        for score, p in zip(scores, confidence, strict=True)
    ]
    return [weight / fsum(weights) for weight in weights]


def successive_draws_by_hand(weights, k):
    """Probability of each set of k when drawn one after the other, proportional to weight."""
    chances = {}
    for order in permutations(range(len(weights)), k):
        left = [fsum(weights) - fsum(weights[i] for i in order[:drawn]) for drawn in range(k)]
        chance = prod(weights[i] / rest for i, rest in zip(order, left, strict=True))
        chances[tuple(sorted(order))] = chances.get(tuple(sorted(order)), 0) + chance
    return chances


def cut_off_by_hand(hardness, share):
    """Ids of the hardest `int(share * N)`, with `share` as the decimal that was written."""
    count = int(Fraction(str(share)) * len(hardness))
    return set(sorted(range(len(hardness)), key=lambda i: -hardness[i])[:count])


def strata_by_hand(scores, ids, strata):
    """Ids in each stratum [low + b w, low + (b + 1) w); the highest score is in the last."""
    low, high = min(scores[i] for i in ids), max(scores[i] for i in ids)
    width = (high - low) / strata
    inside = [[] for _ in range(strata)]
    for i in ids:
        above = [b for b in range(strata) if low + b * width <= scores[i]]
        inside[above[-1] if width else 0].append(i)
    return inside


def budgets_by_hand(sizes, k):
    """CCS: from the smallest stratum to the largest, an equal share of the rest or all it has."""
    budgets = [0] * len(sizes)
    smallest_first = sorted(range(len(sizes)), key=lambda stratum: (sizes[stratum], stratum))
    for visited, stratum in enumerate(smallest_first):
        budgets[stratum] = min(sizes[stratum], (k - sum(budgets)) // (len(sizes) - visited))
    return budgets


def shares_by_hand(sizes, k):
    """Largest remainders: round every share down, then give one more where most was cut."""
    exact = [Fraction(size * k, sum(sizes)) for size in sizes]
    shares = [int(share) for share in exact]
    most_cut = sorted(range(len(sizes)), key=lambda i: (shares[i] - exact[i], i))
    for i in most_cut[: k - sum(shares)]:
        shares[i] += 1
    return shares


def smallest_of_each_by_hand(keys, groups, quotas, ties):
    """Sort each group by key, then by tie, then by position, and take its quota."""
    chosen = []
    for group, quota in enumerate(quotas):
        members = [i for i, own in enumerate(groups) if own == group]
        chosen += sorted(members, key=lambda i: (keys[i], ties[i], i))[:quota]
    return sorted(chosen)


def with_floor_by_hand(keys, groups, quotas, ties, k):
    """Take the quota of each group, and fill up with the smallest of all others."""
    sure = smallest_of_each_by_hand(keys, groups, quotas, ties)
    rest = sorted(set(range(len(keys))) - set(sure), key=lambda i: (keys[i], ties[i], i))
    return sorted(sure + rest[: k - len(sure)])


def philox_by_hand(counter, key):
    """Four 64-bit numbers of Philox4x64-10 (Salmon et al., 2011); counter and key are tuples."""
    word = 2**64
    for turn in range(10):
        low = (key[0] + turn * 0x9E3779B97F4A7C15) % word
        high = (key[1] + turn * 0xBB67AE8584CAA73B) % word
        first, second = counter[0] * 0xD2E7470EE14C6C93, counter[2] * 0xCA5A826395121157
        counter = (
            (second // word) ^ counter[1] ^ low,
            second % word,
            (first // word) ^ counter[3] ^ high,
            first % word,
        )
    return counter


def uniform_by_hand(seed, sample):
    """Give the random number of one id: 52 bits, strictly between 0 and 1."""
    block = sample // 4 + 1  # numpy counts before it draws
    raw = philox_by_hand((block % 2**64, 0, 0, 0), (seed, 0))[sample % 4]
    return (raw // 2**12 + 0.5) / 2**52
