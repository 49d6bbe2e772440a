"""Rows as text: every text against enumeration, printing, and the message of each text that is refused."""

import itertools

import pyomo.environ as pyo
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fsmodels as fs
from fsmodels.models.rows import Row, Term, _difference

NAMES = ["age", "sex", "chol", "mean radius", "a`b", "w", "größe"]
NUMBERS = st.one_of(st.integers(1, 9), st.floats(1e-6, 1e6)).map(float)
SIGNED = st.tuples(NUMBERS, st.sampled_from([1.0, -1.0])).map(lambda pair: pair[0] * pair[1])
TERMS = st.one_of(
    SIGNED.map(Term), st.tuples(SIGNED, st.sampled_from(["sigma", "w"]), st.sampled_from(NAMES)).map(lambda t: Term(*t))
)
SIDES = st.lists(TERMS, min_size=1, max_size=4).map(tuple)


def model_of(names=("a", "b", "c")):
    model = pyo.ConcreteModel()
    model.sigma = pyo.Var(list(names), domain=pyo.Binary)
    model.w = pyo.Var(list(names))
    return model


def allowed(row, model):
    """Return the selections that satisfy a constraint."""
    names, found = list(model.sigma), set()
    for values in itertools.product([0, 1], repeat=len(names)):
        for name, value in zip(names, values, strict=True):
            model.sigma[name].set_value(value)
        if pyo.value(row.expr):
            found.add(frozenset(name for name, value in zip(names, values, strict=True) if value))
    return found


@pytest.mark.parametrize(
    ("text", "satisfied"),
    [
        ("a <= b", lambda a, b, c: a <= b),
        ("a+b<=1", lambda a, b, c: a + b <= 1),
        ("2 a + b <= 2", lambda a, b, c: 2 * a + b <= 2),
        ("2*a + 0.5 * b <= 2 + c", lambda a, b, c: 2 * a + 0.5 * b <= 2 + c),
        ("- a + 1 >= b - c", lambda a, b, c: 1 - a >= b - c),
        ("a == b", lambda a, b, c: a == b),
        ("1 <= a + b + c <= 2", lambda a, b, c: 1 <= a + b + c <= 2),
        ("2 >= a + b + c >= 1", lambda a, b, c: 1 <= a + b + c <= 2),
        ("1 == `a` + sigma[c] + b", lambda a, b, c: a + b + c == 1),
        ("a + a <= 1e0", lambda a, b, c: not a),
        ("3 >= 2 + a + .5b", lambda a, b, c: a + b / 2 <= 1),
    ],
)
def test_a_text_allows_the_selections_of_its_relation(text, satisfied):
    model = model_of()
    model.mine = fs.rows.parse(text, model)
    wanted = {
        frozenset(name for name, value in zip("abc", values, strict=True) if value)
        for values in itertools.product([0, 1], repeat=3)
        if satisfied(*values)
    }
    assert allowed(model.mine, model) == wanted
    again = Row.parse(str(Row.parse(text, "abc")), "abc")
    assert again == Row.parse(text, "abc")


@given(st.tuples(SIDES, SIDES), st.sampled_from(["<=", ">=", "=="]))
def test_printed_rows_are_read_again(sides, relation):
    row = Row(sides, relation)
    if not any(_difference(*sides)[0].values()):
        with pytest.raises(fs.ParameterError, match="no feature remains"):
            Row.parse(str(row), NAMES)
        return
    read = Row.parse(str(row), NAMES)
    assert read == row
    assert str(read) == str(row)


@given(st.text(alphabet="ab w[]`<>=+-*2.e(!", max_size=12))
def test_any_text_is_read_or_refused_with_a_position(text):
    try:
        row = Row.parse(text, ["a", "b", "e", "w", "a b"])
    except fs.errors.Error as error:
        assert str(error).startswith(f'Row "{text}", position ')  # noqa: PT017
    else:
        assert Row.parse(str(row), ["a", "b", "e", "w", "a b"]) == row


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("slope<=oldpeak", "slope <= oldpeak"),
        ("2*thal+1.0 ca <= 2.50", "2 thal + ca <= 2.5"),
        ("w[age]>=-0.5", "w[age] >= -0.5"),
        ("- `mean radius` - slope >= -1", "-`mean radius` - slope >= -1"),
        ("1<=age+ca<=2", "1 <= age + ca <= 2"),
    ],
)
def test_a_row_prints_its_text(text, printed):
    assert str(Row.parse(text, ["slope", "oldpeak", "thal", "ca", "age", "mean radius"])) == printed


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("slope < ca", fs.ParameterError, 'Row "slope < ca", position 7: strict inequalities are not supported'),
        ("slope > ca", fs.ParameterError, "position 7: strict inequalities are not supported: write >="),
        ("slope = ca", fs.ParameterError, "position 7: an equation is written =="),
        ("slope != ca", fs.ParameterError, "position 7: != is not linear"),
        ("slope", fs.ParameterError, "position 6: there is no relation: write <=, >= or =="),
        ("", fs.ParameterError, "position 1: a feature or a number is missing"),
        ("slope <=", fs.ParameterError, "position 9: a feature or a number is missing"),
        ("slope ca <= 1", fs.ParameterError, r"position 7: a sign \(\+ or -\) or a relation"),
        ("slop <= ca", fs.DataError, 'position 1: "slop" is not a feature of the data. Did you mean "slope"'),
        ("ca <= z", fs.DataError, 'position 7: "z" is not a feature of the data. Features: slope, ca, mean radius'),
        ("mean radius <= ca", fs.DataError, "position 1: .*write `mean radius` in backticks"),
        ("x.1 <= ca", fs.DataError, "position 1: .*write `x.1` in backticks"),
        ("2 (slope + ca) <= 1", fs.ParameterError, "position 3: parentheses are not supported: multiply out"),
        ("slope / 2 <= 1", fs.ParameterError, "position 7: division is not supported: write a decimal number"),
        ("`slope <= 1", fs.ParameterError, "position 1: the closing backtick is missing"),
        ("slope * 2 <= 1", fs.ParameterError, "position 7: a coefficient comes before the name: write 2 name"),
        ("2 * <= 1", fs.ParameterError, "position 5: a feature is missing"),
        ("w[slope <= 1", fs.ParameterError, r"position 9: the \] after w\[slope is missing"),
        ("w[] <= 1", fs.ParameterError, "position 3: a feature is missing"),
        ("slope <= ca <= 1", fs.ParameterError, "position 1: a chain has the form"),
        ("1 <= slope >= 0", fs.ParameterError, "position 1: a chain has the form"),
        ("2 <= slope <= 1", fs.InfeasibleParameter, "position 1: no number is between 2 and 1"),
        ("1 <= 2", fs.ParameterError, "position 1: no feature remains in the row"),
        ("slope <= slope", fs.ParameterError, "position 1: no feature remains in the row"),
        ("slope <= 1e999", fs.ParameterError, "position 10: the number is too large"),
        ("slope + + ca <= 1", fs.ParameterError, "position 9: a feature or a number is missing"),
        ("slope & ca", fs.ParameterError, 'position 7: "&" is not allowed'),
        (3, fs.ParameterError, "rows: got int: give text"),
    ],
)  # fmt: skip
def test_wrong_texts_are_refused_with_the_position(text, error, message):
    with pytest.raises(error, match=message):
        Row.parse(text, ["slope", "ca", "mean radius", "x.1"])


def test_rows_on_weights_and_models_without_them():
    model = model_of()
    model.up = fs.rows.parse("w[a] >= 0", model)
    model.tied = fs.rows.parse("w[a] - 2 w[b] <= 3 c", model)
    assert str(model.up.expr) == "0.0  <=  w[a]"
    model.del_component("w")
    with pytest.raises(fs.ModelError, match="has no weights w"):
        fs.rows.parse("w[a] >= 0", model)
    with pytest.raises(fs.ModelError, match="has no weights w"):
        fs.rows.parse("a >= 0", pyo.ConcreteModel())


@pytest.mark.parametrize(
    ("text", "binary"),
    [
        ("a + b <= 1", ""), ("a <= b", ""), ("a == b", ""), ("a == 1", ""), ("a + b + c >= 3", ""), ("a + b >= 0", ""),
        ("2 a + b <= c", ""), ("a + b >= 1", "ab"), ("a <= b + c", "bc"), ("a <= 2 b", "b"), ("a + b == 1", "ab"),
        ("1 <= a + b <= 2", "ab"),
    ],
)  # fmt: skip
def test_fractions_of_a_step_become_binary_where_rounding_down_violates_the_row(text, binary):
    model = model_of()
    model.del_component("sigma")
    model.sigma = pyo.Var(list("abc"), bounds=(0, 1))
    model.r, model.step_where_used, model.used_where_step = pyo.Var(), pyo.Var(), pyo.Var()
    model.mine = fs.rows.parse(text, model)
    assert "".join(j for j in "abc" if model.sigma[j].is_binary()) == binary
    if not binary:
        for values in itertools.product([0, 1 / 3, 1 / 2, 1], repeat=3):
            for name, value in zip("abc", values, strict=True):
                model.sigma[name].set_value(value)
            if pyo.value(model.mine.expr):
                for name in "abc":
                    model.sigma[name].set_value(int(model.sigma[name].value))
                assert pyo.value(model.mine.expr)


def test_a_row_of_a_built_model_is_solved():
    data = fs.load_dataset("bupa").scaled("standard")
    model = fs.fsp.fsp_m(data, max_features=2)
    model.mine = fs.rows.parse("sgpt + sgot <= drinks", model)
    model.sign = fs.rows.parse("w[drinks] <= 0", model)
    result = fs.solve(model)
    assert result.status.value == "optimal"
    assert not {"sgpt", "sgot"} & set(result.selected) or "drinks" in result.selected
    assert model.w["drinks"].value <= 1e-9
