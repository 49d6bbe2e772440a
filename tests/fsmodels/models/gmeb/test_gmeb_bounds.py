"""The bounds of Theorems 9 and 11: every term by hand, how they move, and what they refuse."""

import math

import numpy as np
import pytest

import fsmodels as fs
from fsmodels import gmeb


@pytest.fixture
def three():
    """(3, 0) and (0, 4) of class +1, (0, 0) of class -1."""
    return fs.Dataset.from_arrays([[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]], [1, 1, -1])


def test_theorem_9_by_hand(three):
    """w.x sigma + b is -0.2, 3.8 and -2: margins -0.2, 3.8, 2; sigma~ = (2, 4), sigma~/sigma_0 = (2, 4)."""
    found = gmeb.bound_with_scaling(
        three, [0.6, 0.725], [1.0, 2.0], -2.0, B=2.0, r=4.0, gamma=4.0, sigma_0=1.0, delta=0.1
    )
    K = (2 * math.sqrt(20) + 1) * 4
    assert found.margin_cost == pytest.approx(((1 + 0.2 / 4) + (1 - 3.8 / 4) + (1 - 2 / 4)) / 3)
    assert found.moments_plus == pytest.approx(1.0 * math.sqrt(2) / 3 * math.sqrt(4.5 * 4 + 8 * 16))
    assert found.moments_minus == 0
    assert found.offset == pytest.approx(2)
    assert found.scales == pytest.approx(K * math.sqrt(2 * math.log(2)))  # ln log2 2 = 0, ln log2 4 = ln 2
    assert found.confidence == pytest.approx(K * 1.5 * math.sqrt(2 * math.log(20)))
    total = found.margin_cost + found.moments_plus + (found.offset + found.scales + found.confidence) / math.sqrt(3)
    assert found.total == pytest.approx(total)


def test_theorem_11_by_hand(three):
    found = gmeb.bound_without_scaling(three, [0.6, 0.725], -2.0, B=2.0, r=4.0, gamma=2.0, gamma_0=0.5, delta=0.1)
    assert found.margin_cost == pytest.approx(((1 + 0.2 / 2) + (1 - 0.9 / 2) + 0) / 3)
    assert found.hat_gamma == 4
    root = 2 * 12 * math.sqrt(6 * math.log(20))
    inverse = 8 * math.sqrt(25 / 3) + 8 * math.sqrt(3) + root
    assert found.C * inverse == pytest.approx(1)
    assert found.complexity == pytest.approx(1 / (3 * found.C * 4))
    assert found.margins == pytest.approx(12 * math.sqrt(2 * math.log(3)))  # log2(4 / 0.5) = 3
    assert found.confidence == pytest.approx(12 * math.sqrt(2 * math.log(20)))
    assert found.total == pytest.approx(found.margin_cost + found.complexity + found.Lambda / math.sqrt(3))


def both(data, n=1, delta=0.05):
    """Both bounds for n copies of the data: all means stay."""
    data = fs.Dataset.from_arrays(np.tile(data.X, (n, 1)), np.tile(data.y, n))
    return (
        gmeb.bound_with_scaling(data, [0.6, 0.8], [0.1, 0.2], 0.5, r=4.0, sigma_0=0.01, delta=delta),
        gmeb.bound_without_scaling(data, [0.6, 0.8], 0.5, r=4.0, gamma=1.0, gamma_0=0.1, delta=delta),
    )


def test_more_samples_and_more_doubt_lower_them(three):
    for few, many in zip(both(three), both(three, n=100), strict=True):
        assert many.margin_cost == pytest.approx(few.margin_cost)
        assert many.total < few.total
    scaled = [both(three, n=n)[0] for n in (1, 100)]
    assert scaled[1].total - scaled[1].margin_cost == pytest.approx((scaled[0].total - scaled[0].margin_cost) / 10)
    for sure, doubtful in zip(both(three, delta=0.01), both(three, delta=0.2), strict=True):
        assert doubtful.total < sure.total


def test_the_data_dependent_terms_are_the_objective_of_the_penalty_form(three):
    """(7): with B = gamma = 1, sigma above sigma_0 and C+ = C- = 4 both read 4 sqrt(n+)/n sqrt(v+ sigma^2)."""
    columns = gmeb.centred(three)
    centred = fs.Dataset.from_arrays(columns.X, columns.y)
    u, sigma = np.array([0.6, 0.8]), np.array([0.3, 0.4])
    found = gmeb.bound_with_scaling(centred, u, sigma, 0.1, r=10.0, sigma_0=0.2)
    sizes = [np.sqrt((v * sigma**2).sum()) for v in (columns.v_plus, columns.v_minus)]
    assert found.moments_plus == pytest.approx(4 * math.sqrt(2) / 3 * sizes[0])
    assert found.moments_minus == pytest.approx(4 * math.sqrt(1) / 3 * sizes[1])


def test_classes_change_places(three):
    flipped = fs.Dataset.from_arrays(three.X, -three.y)
    words = {"r": 4.0, "sigma_0": 0.1}
    one = gmeb.bound_with_scaling(three, [0.6, 0.8], [1.0, 1.0], 0.5, **words)
    two = gmeb.bound_with_scaling(flipped, [-0.6, -0.8], [1.0, 1.0], -0.5, **words)
    assert (one.moments_plus, one.moments_minus) == (two.moments_minus, two.moments_plus)
    assert one.total == pytest.approx(two.total)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"B": 0.5}, r"B=0.5 is below the norm of w, 1"),
        ({"r": 3.0}, r"r=3.0 is below the norm of sample 1, 4"),
        ({"b": 5.0}, r"b=5.0 is larger than r=4.0"),
        ({"b": float("nan")}, "b=nan"),
        ({"r": 0.0}, "r=0.0 is not allowed"),
        ({"delta": 0.0}, "delta=0.0"),
        ({"delta": 1.0}, "delta=1.0"),
        ({"gamma": -1.0}, "gamma=-1.0"),
        ({"sigma_0": 0.0}, "sigma_0=0.0"),
        ({"sigma": [-1.0, 1.0]}, "negative scale -1"),
        ({"sigma": [1.0]}, r"sigma of shape \(1,\).*2 features"),
        ({"w": [0.6, float("nan")]}, "w of shape"),
    ],
)
def test_what_the_theorem_does_not_cover_is_refused(words, message, three):
    good = {"w": [0.6, 0.8], "sigma": [1.0, 1.0], "b": 0.0, "r": 4.0, "sigma_0": 0.1}
    with pytest.raises(fs.ParameterError, match=message):
        gmeb.bound_with_scaling(three, **(good | words))


def test_margins_below_the_least_are_refused(three):
    with pytest.raises(fs.ParameterError, match=r"gamma=0.1 is below gamma_0=0.2"):
        gmeb.bound_without_scaling(three, [0.6, 0.8], 0.0, r=4.0, gamma=0.1, gamma_0=0.2)
