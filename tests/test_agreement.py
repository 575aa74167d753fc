"""How much two ways to choose agree."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from dualprune.experiments.agreement import mean_overlap, overlap, rank_correlation


def test_overlap_is_a_share_of_the_smaller_coreset():
    assert overlap(np.arange(10), np.arange(5, 8)) == 1.0
    assert overlap(np.arange(4), np.arange(4, 9)) == 0.0
    assert mean_overlap([np.arange(4), np.arange(2, 6), np.arange(4)]) == pytest.approx(2 / 3)


@pytest.mark.parametrize("ties", [False, True])
def test_rank_correlation_is_spearmans_over_all_pairs(ties):
    scores = np.random.default_rng(0).random((3, 200))
    scores[1] += scores[0]
    if ties:
        scores = scores.round(1)
    expected = np.mean([spearmanr(scores[i], scores[j])[0] for i, j in ((0, 1), (0, 2), (1, 2))])
    assert rank_correlation(list(scores)) == pytest.approx(expected)
    with_gaps = [
        np.append(each, value) for each, value in zip(scores, (np.nan, 5, -5), strict=True)
    ]
    assert rank_correlation(with_gaps) == pytest.approx(expected)
