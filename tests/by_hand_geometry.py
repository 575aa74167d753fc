"""Selection by geometry once more, slowly: dense tables, full scans, written from the definitions.

`tie_keys` break ties, then the position does; `quotas` are by class, in the order of the labels.
"""

from math import dist, exp, hypot, inf, isnan


def nearest_by_hand(features, k):
    """Give (distance, id) of the k nearest others of each sample."""
    ids = range(len(features))
    return [sorted((dist(features[i], features[j]), j) for j in ids if j != i)[:k] for i in ids]


def best_by_hand(values, tie_keys, among):
    return min(among, key=lambda i: (-values[i], tie_keys[i], i))


def cut_off_by_hand(aum, ids, count, tie_keys):
    """Give the ids without the `count` hardest; a missing aum is not hard."""
    hard = sorted(ids, key=lambda i: (inf if isnan(aum[i]) else -aum[i], tie_keys[i], i))
    return sorted(hard[count:])


def of_each_class_by_hand(labels, ids, quotas, select):
    kept = []
    for label, quota in zip(sorted({labels[i] for i in ids}), quotas, strict=True):
        members = [i for i in ids if labels[i] == label]
        kept += [members[place] for place in select(members, quota)[:quota]]
    return sorted(kept)


def d2_by_hand(scores, features, tie_keys, k, neighbours, gamma):
    """Give the values after the forward pass, and the samples in the order they are kept."""
    ids = range(len(scores))
    near = [{j for _, j in row} for row in nearest_by_hand(features, neighbours)]
    joined = [[j in near[i] or i in near[j] for j in ids] for i in ids]
    gaps = [[dist(features[i], features[j]) for j in ids] for i in ids]
    first = [
        scores[i] + sum(exp(-gaps[i][j]) * max(scores[j], 1e-7) for j in ids if joined[i][j])
        for i in ids
    ]
    values, order = list(first), []
    while len(order) < k:
        best = best_by_hand(values, tie_keys, [i for i in ids if i not in order])
        order.append(best)
        for j in ids:
            if joined[best][j]:
                values[j] -= exp(-gamma * gaps[best][j]) * values[best]
    return first, order


def k_center_by_hand(features, tie_keys, k):
    ids, width = range(len(features)), range(len(features[0]))
    middle = [sum(row[column] for row in features) / len(features) for column in width]
    order = [best_by_hand([-dist(row, middle) for row in features], tie_keys, ids)]
    while len(order) < k:
        far = [min(dist(features[i], features[j]) for j in order) for i in ids]
        order.append(best_by_hand(far, tie_keys, [i for i in ids if i not in order]))
    return order


def cosine_by_hand(one, other):
    lengths = hypot(*one) * hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / lengths if lengths else 0.0


def boss_by_hand(scores, features, tie_keys, k, alpha, beta):
    """Give the samples of one class in the order they are kept, each compared with all."""
    ids, low, high = range(len(scores)), min(scores), max(scores)
    scaled = [(score - low) / (high - low) if high > low else 0.5 for score in scores]
    weights = [e ** (alpha - 1) * (1 - e) ** (beta - 1) for e in scaled]

    def represents(a, b):
        return (0.5 + 0.5 * cosine_by_hand(features[a], features[b])) * weights[b]

    reached, order = [0.0] * len(scores), []
    while len(order) < k:
        added = [sum(max(represents(a, b) - reached[a], 0.0) for a in ids) for b in ids]
        order.append(best_by_hand(added, tie_keys, [i for i in ids if i not in order]))
        reached = [max(reached[a], represents(a, order[-1])) for a in ids]
    return order
