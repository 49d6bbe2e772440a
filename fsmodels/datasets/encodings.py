"""Bytes to text: UTF-8 is read, with or without a mark; another encoding is recognised, and named in the refusal."""

from __future__ import annotations

import codecs
import gzip
import re
import zlib
from pathlib import Path

from fsmodels.datasets.dialect import Dialect
from fsmodels.datasets.files import available_memory, check_fits
from fsmodels.datasets.shell import word
from fsmodels.errors import DataError
from fsmodels.words import short

__all__ = ["decoded", "packed"]

MARKS = [
    (codecs.BOM_UTF32_LE, "utf-32"),  # begins as UTF-16's does, and is looked for first
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
]
LIKELY = ("cp1252", "latin-1")
CHUNK = 2**24  # bytes that are unpacked at a time
COPIES = 2  # of the content of a file in memory: bytes and text
PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz"}


def packed(path: Path) -> bytes:
    """Return the bytes of a file, unpacked where its name ends in ".gz".

    Raises DataError: the file cannot be read, or its content does not fit into memory.
    """
    try:
        if path.suffix == ".gz":
            available, raw = available_memory(), bytearray()
            with gzip.open(path) as file:
                while part := file.read(CHUNK):
                    raw += part
                    check_fits(path, COPIES * len(raw), available)
            return bytes(raw)
        check_fits(path, COPIES * path.stat().st_size)
        return path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(
            f'File "{path}" cannot be read ({error}): check that it is complete and that you may read it.'
        ) from None


def decoded(raw: bytes, path: Path, asked: Dialect) -> tuple[str, str]:
    """Return the text and its encoding. Raises DataError, with the words to type, where that is not UTF-8."""
    if asked.encoding is not None:
        try:
            if codecs.lookup(asked.encoding).name.startswith(("utf-16", "utf-32")) and not _utf16(raw):
                raise UnicodeError("it has one byte a character")  # any such bytes are some text of East Asia
            return raw.decode(asked.encoding).removeprefix("\ufeff"), asked.encoding
        except (UnicodeError, LookupError) as error:
            other = _utf16(raw) or ("utf-8" if _is(raw, "utf-8") else "")
            remedy = f"give {Dialect(encoding=other).words}" if other else "name another with --encoding"
            raise DataError(f'File "{path}" is no text in {asked.encoding} ({error}): {remedy}.') from None
    if other := _utf16(raw):
        raise DataError(
            f'File "{path}" is text in {other.upper()}, as Excel writes "Unicode text": give '
            f"{Dialect(encoding=other).words}."
        )
    encoding = "utf-8-sig" if raw.startswith(codecs.BOM_UTF8) else "utf-8"
    try:
        return raw.decode(encoding), encoding
    except UnicodeDecodeError as error:
        raise _refusal(raw, path, error) from None


def _refusal(raw: bytes, path: Path, error: UnicodeDecodeError) -> DataError:
    kind = next((kind for start, kind in PACKED.items() if raw.startswith(start)), "")
    if kind == "gzip":
        return DataError(
            f'File "{path}" is not UTF-8 text but packed by gzip, and needs a name that ends in ".gz": '
            f"mv {word(path)} {word(f'{path}.gz')}"
        )
    if kind:
        return DataError(f'File "{path}" is not UTF-8 text but packed by {kind}: unpack it first.')
    binary = sum(raw[:4096].count(bytes([c])) for c in (*range(9), *range(14, 32)))
    if binary > 0.02 * len(raw[:4096]):
        return DataError(
            f'File "{path}" is not UTF-8 text, nor any text ({error.reason} at byte {error.start}): save the table as '
            "CSV in UTF-8."
        )
    encoding = next((name for name in LIKELY if _is(raw, name)), "latin-1")
    return DataError(
        f'File "{path}" is not UTF-8 text (byte {error.start + 1}). If it says "{_shown(raw, error.start, encoding)}" '
        f"there, give {Dialect(encoding=encoding).words}; else name another encoding, such as cp1250 or mac-roman."
    )


def _shown(raw: bytes, at: int, encoding: str) -> str:
    """Return the cell around a byte."""
    before, after = raw[max(0, at - 30) : at], raw[at : at + 30]
    start = re.split(rb"[,;\t|\r\n\"]", before)[-1]
    end = re.split(rb"[,;\t|\r\n\"]", after)[0]
    return short((start + end).decode(encoding, "replace").strip())


def _is(raw: bytes, encoding: str) -> bool:
    try:
        raw.decode(encoding)
    except UnicodeError:
        return False
    return True


def _utf16(raw: bytes) -> str:
    """Return which encoding with two or four bytes a character this is, if any: by its mark, or by its zeros."""
    for mark, name in MARKS:
        if raw.startswith(mark):
            return name
    head = raw[:2000]
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if len(head) >= 4 and max(even, odd) > 0.3 * (len(head) / 2) and min(even, odd) < 0.02 * len(head):
        return "utf-16-le" if odd > even else "utf-16-be"
    return ""
