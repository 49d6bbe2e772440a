"""Certificate files of any content: each is accepted, rejected, or refused by a DataError; nothing else is raised."""

import copy
import json
import math

import pytest

import fsmodels as fs
from fsmodels.certificates.document import CertificateFile
from tests.helpers.enumeration import instance

NESTED = "[" * 100_000 + "]" * 100_000
VALUES = [
    None, True, False, "", "x", "\ud800", "\x1b[31m\u202e", [], [None], [[]], {}, {"a": None}, 0, -1, 7, 2**53, 10**30,
    10**400, -(10**400), 0.5, -1.5, 1e308, math.nan, math.inf, [1e308] * 3, [10**400], ["x"], [True], [[0, 0.0]],
]  # fmt: skip
HARMLESS = {("data", "name"), ("data", "positive"), ("data", "sha256"), ("problem", "rows", 0, "name")}


@pytest.fixture(scope="module")
def proof():
    data, C, _, _ = instance(4)
    return data, fs.select(data, C=C, max_features=1, scale="none").certificate


def places(part, path=()):
    """Return the paths of all parts, of lists only the first and the last."""
    found = [path] if path else []
    if isinstance(part, dict):
        found += [place for key, value in part.items() for place in places(value, (*path, key))]
    elif isinstance(part, list):
        found += [place for k in {0, len(part) - 1} if part for place in places(part[k], (*path, k))]
    return found


def replaced(content, path, value):
    content = copy.deepcopy(content)
    part = content
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    return content


def outcome(given, data):
    """Return whether a certificate holds, or the text of the DataError."""
    try:
        return fs.verify(given, data).holds
    except fs.DataError as error:
        return str(error)


def test_any_value_anywhere_is_accepted_only_where_it_states_nothing(proof):
    data, certificate = proof
    content = certificate.content
    accepted = set()
    for path in places(content):
        for value in VALUES:
            given = CertificateFile(replaced(content, path, value))
            found = outcome(given, data)
            if isinstance(found, str):
                assert len(found) < 500
                assert found.isprintable()
                assert any(word in found for word in ("certificate", "other data", "overflows"))
            elif found:
                accepted.add(path)
    # Multipliers and theta are free: the check proves what they give. A larger gap states less.
    stated = {path for path in accepted - HARMLESS if path[0] not in ("multipliers", "tree")}
    assert stated <= {("gap",), ("problem", "price"), *numbers_of(content)}


def numbers_of(content):
    """Return the places whose value is one of ``VALUES`` already."""
    found = set()
    for path in places(content):
        part = content
        for key in path:
            part = part[key]
        if any(part == value for value in VALUES if not isinstance(value, float) or not math.isnan(value)):
            found.add(path)
    return found


def test_a_part_that_is_missing_is_named(proof):
    data, certificate = proof
    for path in places(certificate.content):
        if not isinstance(path[-1], str) or "weights" in path[:-1] or "coefficients" in path[:-1]:
            continue
        content = copy.deepcopy(certificate.content)
        part = content
        for key in path[:-1]:
            part = part[key]
        del part[path[-1]]
        assert f'has no "{path[-1]}"' in outcome(CertificateFile(content), data)


TEXTS = {
    "nothing": "",
    "null": "null",
    "a list": "[]",
    "deeply nested": NESTED,
    "deeply nested in the content": '{"format":"fsmodels-certificate","version":2,"tree":' + NESTED + "}",
    "deeply nested objects": '{"a":' * 100_000 + "1" + "}" * 100_000,
    "an unfinished text": '{"format":"fsmodels-certificate","version":2',
    "a number of 5000 digits": '{"format":"fsmodels-certificate","version":' + "9" * 5000 + "}",
    "a version of 300 digits": '{"format":"fsmodels-certificate","version":' + "9" * 300 + "}",
    "a version that is a list": '{"format":"fsmodels-certificate","version":[2]}',
    "NaN": '{"format":"fsmodels-certificate","version":2,"gap":NaN}',
    "bytes that are no text": b"\xff\xfe\x00{",
    "zeros": b"\x00" * 1000,
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_file_that_is_no_certificate_is_refused(name, tmp_path, proof):
    text = TEXTS[name]
    (tmp_path / "c.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(fs.DataError, match=r"[Cc]ertificate") as error:
        fs.verify(tmp_path / "c.json", proof[0])
    assert len(str(error.value)) < 500


def test_numbers_beyond_floating_point_are_refused(tmp_path, proof):
    data, certificate = proof
    certificate.save(tmp_path / "c.json")
    text = (tmp_path / "c.json").read_text()
    for number in ("1e999", "-1e999", "NaN", "Infinity", "1" + "0" * 400, "true", "null", '"1"', "[1]", NESTED):
        (tmp_path / "c.json").write_text(text.replace('"gap":0.0001', f'"gap":{number}'))
        assert "ertificate" in outcome(tmp_path / "c.json", data)


@pytest.mark.parametrize("key", ['"bound":', '"C":', '"features":', '"bias":'])
def test_a_key_that_is_there_twice_is_refused(key, tmp_path, proof):
    data, certificate = proof
    certificate.save(tmp_path / "c.json")
    text = (tmp_path / "c.json").read_text()
    (tmp_path / "c.json").write_text(text.replace(key, f"{key}0,{key}", 1))
    assert "twice" in outcome(tmp_path / "c.json", data)


@pytest.mark.parametrize("path", [3, None, {}, "", "x" * 300, "a\0b", "."])
def test_a_path_that_is_none_is_refused(path, proof):
    with pytest.raises(fs.DataError, match="Certificate"):
        fs.verify(path, proof[0])


def test_a_file_that_was_read_can_be_shown(tmp_path, proof):
    for path, value in ((("objective",), "x"), (("data",), None), (("tree",), 3), (("model",), None)):
        text = json.dumps(replaced(proof[1].content, path, value))
        (tmp_path / "c.json").write_text(text)
        with pytest.raises(fs.DataError, match="malformed"):
            CertificateFile.load(tmp_path / "c.json")
