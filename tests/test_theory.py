"""The paper's theorem on two points: what it claims, where it holds, and with which numbers."""

from decimal import Decimal, localcontext
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from scipy.special import expit

from dualprune.errors import InputError
from dualprune.experiments.theory import figures
from dualprune.experiments.theory.two_points import (
    POINTS,
    Flips,
    first_flip,
    flips,
    learn,
    log_gamma_v,
    mean_points,
    moon_path,
    sigmoid_rise,
    window_scores,
)
from dualprune.score import dual, dyn_unc

DIGITS = 150
CAP = 2**15  # updates

repeatable = settings(derandomize=True, deadline=None, max_examples=60)
shares = st.floats(0.01, 0.99)


@st.composite
def assumed_points(draw):
    """Two points of the plane as the theorem wants them, some of them only just."""
    large = 1.01 * 400 ** draw(shares)
    both = large * 0.499 * 0.01 ** draw(shares)
    least, most = both**2 / large, both / 2
    small = least * (most / least) ** draw(shares)
    angle = 2 * np.pi * draw(shares)
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    flat = [[small**0.5, 0], [both / small**0.5, (large - both**2 / small) ** 0.5]]
    return np.array(flat) @ turn


def until_flipped(points, eta, window):
    updates = max(64, window)
    while (found := flips(learn(points, eta, updates), window)).v is None and updates < CAP:
        updates *= 4
    return found


@pytest.fixture(scope="module")
def fast():
    return learn(POINTS, eta=0.01, updates=30_000)


@pytest.fixture(scope="module")
def slow():
    return learn(POINTS, eta=0.0005, updates=10_000)


# By hand, with many digits


def sigmoid_by_hand(z):
    return 1 / (1 + (-z).exp())


def outputs_by_hand(points, eta, updates):
    """Follow the weights with the update rule, written out."""
    first, second = [[Decimal(float(x)) for x in point] for point in points]
    weights = [Decimal(0) for _ in first]
    rows = []
    for _ in range(updates + 1):
        one = sum(w * x for w, x in zip(weights, first, strict=True))
        two = sum(w * x for w, x in zip(weights, second, strict=True))
        rows.append((one, two))
        weights = [
            w + Decimal(eta) * ((-one).exp() * a + (-two).exp() * b)
            for w, a, b in zip(weights, first, second, strict=True)
        ]
    return rows


def deviation_by_hand(values):
    pairs = sum((a - b) ** 2 for a, b in combinations(values, 2))
    return (pairs / (len(values) * (len(values) - 1))).sqrt()


def scores_by_hand(rows, window):
    scores = []
    for t in range(len(rows) - window + 1):
        parts = [[sigmoid_by_hand(row[i]) for row in rows[t : t + window]] for i in (0, 1)]
        deviation = [deviation_by_hand(part) for part in parts]
        scores.append((deviation, [1 - sum(part) / window for part in parts]))
    return scores


def test_the_first_updates_by_hand():
    points, eta = np.array([[0.5, -0.25, 1.0], [3.0, 1.0, 2.0]]), 0.125
    path = learn(points, eta, updates=4)
    with localcontext(prec=DIGITS):
        expected = np.array(outputs_by_hand(points, eta, 4), float)
    assert path.weights.shape == (5, 3)
    np.testing.assert_array_equal(path.weights[0], 0)
    np.testing.assert_allclose(path.weights[1], eta * points.sum(axis=0), rtol=1e-15)
    np.testing.assert_allclose(path.outputs, expected, rtol=1e-14)
    np.testing.assert_allclose(path.moves, np.diff(expected, axis=0), rtol=1e-13)


def test_moves_are_not_differences_of_what_was_rounded(fast):
    for t in (1_000, 29_999):
        one, two = np.exp(-fast.outputs[t])
        expected = 0.01 * (0.02 * one + 1.5 * two), 0.01 * (1.5 * one + 125 * two)
        np.testing.assert_allclose(fast.moves[t], expected, rtol=1e-13)


@pytest.mark.parametrize("eta", [0.01, 0.05])
def test_windows_and_flips_by_hand(eta):
    path = learn(POINTS, eta, updates=120)
    deviation, doubt = window_scores(path, window=10)
    with localcontext(prec=DIGITS):
        rows = [[Decimal(float(y)) for y in row] for row in outputs_by_hand(POINTS, eta, 120)]
        scores = scores_by_hand(rows, 10)
        by_hand = [
            next(
                t
                for t, (s, m) in enumerate(scores)
                if s[0] ** a * m[0] ** b > s[1] ** a * m[1] ** b
            )
            for a, b in ((1, 0), (1, 1), (2, 1))
        ]
    np.testing.assert_allclose(deviation, np.array([s for s, _ in scores], float), rtol=1e-10)
    np.testing.assert_allclose(doubt, np.array([m for _, m in scores], float), rtol=1e-12)
    assert flips(path, window=10) == Flips(*by_hand)


def test_windows_keep_their_digits_where_the_model_is_sure(fast):
    late = 20_000
    part = type(fast)(*(each[late:] for each in fast))
    deviation, doubt = window_scores(part, window=10)
    with localcontext(prec=DIGITS):
        rows = [[Decimal(float(y)) for y in fast.outputs[late]]]
        for move in fast.moves[late : late + 9]:
            rows.append([y + Decimal(float(h)) for y, h in zip(rows[-1], move, strict=True)])
        ((spread, rest),) = scores_by_hand(rows, 10)
    assert doubt[0, 1] < 1e-50
    np.testing.assert_allclose(deviation[0], np.array(spread, float), rtol=1e-10)
    np.testing.assert_allclose(doubt[0], np.array(rest, float), rtol=1e-12)


@repeatable
@given(
    z=st.floats(-300, 300),
    size=st.floats(-12, 2.5).map(lambda power: 10**power),
    sign=st.sampled_from([-1, 1]),
)
def test_differences_of_sigmoids_keep_their_digits(z, size, sign):
    step = sign * size
    with localcontext(prec=400):
        low, high = Decimal(z), Decimal(z) + Decimal(step)
        exact = float(sigmoid_by_hand(high) - sigmoid_by_hand(low))
    assert sigmoid_rise(np.array(z), np.array(step)) == pytest.approx(exact, rel=1e-12, abs=0)


def test_sigmoids_at_the_ends():
    assert sigmoid_rise(np.array([-1e4, 0.0]), np.array([2e4, 0.0])).tolist() == [1, 0]
    assert sigmoid_rise(np.array([1e4]), np.array([-2e4])).tolist() == [-1]


@pytest.mark.parametrize("eta", [0.0005, 0.01, 0.03])
def test_mean_points_by_hand(eta):
    path = learn(POINTS, eta, updates=2000)
    zeta, distance = mean_points(path)
    for t in (0, 1, 2, 10, 43, 100, 1999):
        for i in (0, 1):
            with localcontext(prec=400):
                low, length = Decimal(float(path.outputs[t, i])), Decimal(float(path.moves[t, i]))
                slope = (sigmoid_by_hand(low + length) - sigmoid_by_hand(low)) / length
                rest = (1 - (1 - 4 * slope).sqrt()) / 2
                exact = ((1 - rest) / rest).ln()
                apart = float(exact - low - length / 2)
            assert zeta[t, i] == pytest.approx(float(exact), rel=1e-12)
            assert distance[t, i] == pytest.approx(apart, rel=1e-7, abs=0)


def test_the_moon_has_the_scores_of_a_run(fast):
    moon = moon_path(fast)
    for time in (9, 10, 57, 400):
        seen = expit(fast.outputs[: time + 1])
        np.testing.assert_allclose(moon.mean[time], seen.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(moon.deviation[time], seen.std(axis=0), rtol=1e-6)
        np.testing.assert_allclose(moon.dyn_unc[time], dyn_unc(seen, window=10), rtol=1e-6)
        np.testing.assert_allclose(moon.dual[time], dual(seen, window=10), rtol=1e-6)
    assert np.isnan(moon.dual[:9]).all()
    assert np.isnan(moon.dyn_unc[:9]).all()


# The theorem: under the assumption and for a learning rate small enough, T_vm < T_v


def assumption_holds(points):
    """Whether the theorem speaks of these two points."""
    lengths = np.linalg.norm(points, axis=1)[:, None]
    parallel = np.linalg.matrix_rank(points / lengths) < 2
    (small, both), (_, large) = points @ points.T
    return bool(large > 1 and 4 * small < 2 * both < large) and not parallel


def eta_limit(points):
    r"""Give the learning rate below which the constant C of the paper's proof exceeds 1.

    .. math:: \frac{\langle x_1, x_2 \rangle}{\|x_1\|^2} >
        e^{\eta (\|x_2\|^2 + \langle x_1, x_2 \rangle)}

    The proof needs this and, without a number, that no single update changes much.
    """
    (small, both), (_, large) = points @ points.T
    return float(np.log(both / small) / (large + both))


@repeatable
@given(points=assumed_points(), window=st.integers(2, 20))
def test_dual_turns_to_the_right_point_strictly_earlier(points, window):
    assert assumption_holds(points)
    eta = 0.999 * eta_limit(points)
    for _ in range(4):
        found = until_flipped(points, eta, window)
        assert found.v is not None
        assert found.vm <= found.vm_variance < found.v
        eta /= 2


@repeatable
@given(points=assumed_points(), share=st.floats(0.05, 0.4))
def test_with_a_window_of_100_the_learning_rate_must_be_smaller(points, share):
    found = until_flipped(points, share * eta_limit(points), 100)
    assert found.vm < found.v


def test_with_a_window_of_100_it_fails_near_the_limit_where_both_turn_at_once():
    points = np.array([[1.0, 0.0], [2.1, 2.5]])
    assert assumption_holds(points)
    shares = (0.999, 0.75, 0.5, 0.25)
    times = [flips(learn(points, s * eta_limit(points), 500), 100)[:2] for s in shares]
    assert times == [(0, 0), (0, 0), (1, 0), (10, 0)]
    assert flips(learn(points, 0.999 * eta_limit(points), 500), 10)[:2] == (6, 1)


@repeatable
@given(points=assumed_points(), window=st.integers(2, 20), eta=st.floats(-4, 1))
def test_with_any_learning_rate_it_never_turns_later(points, window, eta):
    found = flips(learn(points, 10**eta, updates=500), window)
    times = [501 if time is None else time for time in (found.vm, found.vm_variance, found.v)]
    assert times == sorted(times)


@repeatable
@given(points=assumed_points(), share=shares)
def test_the_lemmas_of_the_proof(points, share):
    eta = share * eta_limit(points)
    path = learn(points, eta, updates=500)
    log_gamma, (zeta, distance) = log_gamma_v(path), mean_points(path)
    one, two = path.outputs.T
    ratio, limit = (
        path.moves[:, 0] / path.moves[:, 1],
        points[0] @ points[0] / (points[0] @ points[1]),
    )
    log_gamma_m = np.logaddexp(0, two) - np.logaddexp(0, one)
    assert (np.diff(two - one) > 0).all()
    assert (one[2:] < two[1:-1]).all()
    assert (np.diff(ratio) > -1e-15).all()
    assert (ratio < limit * (1 + 1e-12)).all()
    assert (np.diff(log_gamma) > 0).all()
    assert (np.diff(log_gamma_m) > 0).all()
    assert (log_gamma < log_gamma_m[:-1]).all()
    assert (log_gamma <= np.log(limit) + two[1] + log_gamma_m[:-1] + 1e-12).all()
    assert (np.diff(zeta[:, 1] - zeta[:, 0]) > 0).all()
    assert (np.abs(distance) < path.moves / 6).all()


def test_a_learning_rate_that_is_not_small_breaks_it():
    assert flips(learn(POINTS, 0.05, updates=50)) == Flips(1, 1, 1)
    assert flips(learn(POINTS, 0.3, updates=50)) == Flips(1, 0, 1), "and a larger one mends it"
    assert 0.02 < eta_limit(POINTS) < 0.05


def test_a_spread_over_a_window_turns_before_its_first_step_does(fast):
    """The proof takes both moments for one: "if V1 > V2 then gamma_V > 1" is not so."""
    turned = first_flip(window_scores(fast)[0])
    first_step = int(np.argmax(log_gamma_v(fast) > 0))
    assert (turned, first_step) == (98, 102)
    assert log_gamma_v(fast)[turned] < 0
    deviation, _ = window_scores(fast)
    assert (deviation[turned:, 0] > deviation[turned:, 1]).all()


# The paper's setting


def test_the_published_setting(fast, slow):
    assert assumption_holds(POINTS)
    assert eta_limit(POINTS) == pytest.approx(np.log(75) / 126.5)
    assert flips(fast) == Flips(98, 11, 29)
    assert flips(slow) == Flips(2091, 320, 686)


def test_weights_learn_the_far_point_first_and_end_near_the_other(fast):
    directions = fast.weights[1:] / np.linalg.norm(fast.weights[1:], axis=1)[:, None]
    near, far = (directions @ (point / np.linalg.norm(point)) for point in POINTS)
    assert (far[:100] > near[:100]).all()
    assert (near[1000:] > far[1000:]).all()
    assert (np.diff(near[100:]) > 0).all()


def test_gamma_and_zeta_increase_and_look_alike(fast, slow):
    for path in (fast, slow):
        log_gamma, (zeta, _) = log_gamma_v(path), mean_points(path)
        apart = zeta[:, 1] - zeta[:, 0]
        assert (np.diff(log_gamma) > 0).all()
        assert (np.diff(apart) > 0).all()
        assert np.corrcoef(log_gamma, apart)[0, 1] > 0.999


def test_mean_points_are_close_to_the_middle_but_for_the_first(slow):
    _, distance = mean_points(slow)
    share = np.abs(distance) / slow.moves
    np.testing.assert_allclose(share[0], 1 / np.sqrt(3) - 1 / 2, rtol=1e-3)
    assert share[100:].max() < 1e-3


def test_the_published_moon(fast):
    moon = moon_path(fast)
    assert (np.diff(moon.mean, axis=0) > 0).all()
    top = int(np.argmax(moon.deviation[:, 1]))
    assert 0 < top < 10
    assert (np.diff(moon.deviation[top:, 1]) < 0).all()
    assert (first_flip(moon.dual), first_flip(moon.dyn_unc)) == (411, 4363)


# Edges and figures


@pytest.mark.parametrize(
    "points",
    [
        pytest.param([[0.1, 0.0], [0.3, 0.9]], id="both near"),
        pytest.param([[1.0, 0.0], [1.9, 9.0]], id="different directions"),
        pytest.param([[1.0, 0.0], [-5.0, 9.0]], id="opposite directions"),
        pytest.param([[0.1, 0.1], [10.0, 10.0]], id="the same direction"),
    ],
)
def test_the_assumption_can_fail(points):
    assert not assumption_holds(np.array(points))


def test_settings_that_cannot_be_are_refused():
    for points in (np.ones((3, 2)), np.ones(2)):
        with pytest.raises(InputError, match="shape"):
            learn(points, 0.01, 10)
    for eta, updates in ((0, 10), (-1, 10), (float("nan"), 10), (0.01, 0)):
        with pytest.raises(InputError, match="eta"):
            learn(POINTS, eta, updates)
    for window in (1, 7):
        with pytest.raises(InputError, match="window must be from 2 to 6"):
            flips(learn(POINTS, 0.01, 5), window)
    assert flips(learn(POINTS, 0.01, 5), 6) == Flips(None, None, None)


def test_figures_show_the_arrays(fast, slow):
    zeta, distance = mean_points(slow)
    axes = Figure().subplots(1, 4)
    drawn = [
        figures.weight_evolution(axes[0], fast.weights, POINTS),
        figures.gamma_v(axes[1], log_gamma_v(slow)),
        figures.delta_zeta(axes[2], zeta),
        figures.mean_point_distance(axes[3], distance[:, 0], slow.moves[:, 0], "1"),
    ]
    assert drawn == list(axes)
    near, far, way = (line.get_xydata() for line in axes[0].lines)
    np.testing.assert_array_equal(way, fast.weights)
    for line, point in ((near, POINTS[0]), (far, POINTS[1])):
        assert np.cross([*line[1], 0], [*point, 0])[2] == pytest.approx(0)
    np.testing.assert_allclose(np.log(axes[1].lines[0].get_ydata()), log_gamma_v(slow))
    assert [each.get_yscale() for each in axes] == ["linear", "log", "linear", "log"]
    assert (axes[3].lines[0].get_ydata() < axes[3].lines[1].get_ydata()).all()


@pytest.mark.parametrize(("time", "kept"), [(100, 1), (1000, 0)])
def test_the_moon_shows_what_dual_keeps(fast, time, kept):
    moon = moon_path(fast)
    axes = figures.synthetic_moon(Figure().subplots(), moon, time)
    points = axes.collections
    for i in (0, 1):
        place = [moon.deviation[time, i], moon.mean[time, i]]
        np.testing.assert_allclose(points[i].get_offsets()[0], place)
    colors = [to_hex(each.get_facecolor()[0]) for each in points]
    assert colors.index("#d1495b") == kept


def test_all_figures_are_written(tmp_path):
    files = list(figures.THEORY.draw(None, [], tmp_path, tmp_path))
    files += [file.with_suffix(".svg") for file in files]
    assert set(files) == set(tmp_path.iterdir())
    assert len(files) == 8
    for file in files:
        start = file.read_bytes()[:8]
        assert start == (b"\x89PNG\r\n\x1a\n" if file.suffix == ".png" else b"<?xml ve")
