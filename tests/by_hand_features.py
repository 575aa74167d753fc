"""The methods that read features once more, slowly, written from their definitions."""

from fractions import Fraction
from math import ceil, exp, floor, fsum, sqrt
from statistics import median

import numpy as np

from tests.by_hand import mean, shares_by_hand


def length(vector):
    return sqrt(fsum(float(number) ** 2 for number in vector))


def distances_by_hand(features, labels, centre):
    distances = []
    for row, label in zip(features, labels, strict=True):
        own = [other for other, of in zip(features, labels, strict=True) if of == label]
        middle = [centre([float(other[j]) for other in own]) for j in range(len(row))]
        distances.append(length([a - b for a, b in zip(row, middle, strict=True)]))
    return distances


def moderate_by_hand(features, labels, k, centre="median"):
    """Drop from the ends in turn, the nearest first, until k are left."""
    distances = distances_by_hand(features, labels, {"median": median, "mean": mean}[centre])
    left = sorted(range(len(features)), key=lambda sample: distances[sample])
    nearest_next = True
    while len(left) > k:
        left = left[1:] if nearest_next else left[:-1]
        nearest_next = not nearest_next
    return sorted(left)


def ssp_by_hand(features, centroids=None, labels=None):
    """Distance to the mean of the class where labels are given, else to the given centroids."""
    if labels is not None:
        return distances_by_hand(features, labels, mean)

    def cosine(a, b):
        lengths = length(a) * length(b)
        return fsum(x * y for x, y in zip(a, b, strict=True)) / lengths if lengths else 0.0

    return [min(1 - cosine(row, centroid) for centroid in centroids) for row in features]


def bws_by_hand(scores, features, labels, *, k, step="0.05", ridge=1.0, judged="1"):
    """Give the best window and the number right of each, where no scores are equal."""
    step, judged = Fraction(step), Fraction(judged)
    classes = sorted(set(labels.tolist()))
    hardest_first = {
        label: sorted(np.flatnonzero(labels == label), key=lambda sample: -scores[sample])
        for label in classes
    }
    shares = shares_by_hand([len(members) for members in hardest_first.values()], k)
    quotas = dict(zip(classes, shares, strict=True))
    counted = []
    for members in hardest_first.values():
        counted += members[len(members) - ceil(judged * len(members)) :]
    x = np.array([[1.0, *row] for row in features])
    y = np.array([[float(label == of) for of in classes] for label in labels])
    windows, share = [], Fraction(0)
    while share <= 1 - Fraction(k, len(scores)):
        ids = []
        for label, members in hardest_first.items():
            start = floor(share * len(members) + Fraction(1, 2))
            start = min(start, len(members) - quotas[label])
            ids += members[start : start + quotas[label]]
        gram = x[ids].T @ x[ids] + ridge * np.eye(x.shape[1])
        outputs = x @ np.linalg.solve(gram, x[ids].T @ y[ids])
        right = sum(classes[outputs[sample].argmax()] == labels[sample] for sample in counted)
        windows.append((right, sorted(int(sample) for sample in ids)))
        share += step
    best = max(windows, key=lambda window: window[0])
    return best[1], [right for right, _ in windows]


def grand_by_hand(logits, label, feature):
    """Length of the gradient of the loss by every weight and bias of the last layer."""
    total = fsum(exp(logit) for logit in logits)
    gradient = []
    for of, logit in enumerate(logits):
        error = exp(logit) / total - (of == label)
        gradient += [error, *(error * number for number in feature)]
    return length(gradient)
