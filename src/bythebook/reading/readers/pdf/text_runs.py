"""The characters of a PDF page as runs on one baseline without a wide gap."""

from __future__ import annotations

import ctypes
import math
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pypdfium2.raw as pdfium

MONO_NAME = re.compile(r"mono|nimbusmon|courier|consol|typewriter|inconsolata|cmtt|menlo", re.I)
BOLD_NAME = re.compile(r"bold|black|heavy|semibold|demi|cmbx", re.I)
FIXED_PITCH = 1
BOLD_WEIGHT = 600
# In widths of the letter's size: a wider gap parts two pieces, unless the letters are of one width.
WIDE_GAP = 1.2
# How far letters of one line may stand above each other: indices do.
SAME_LINE = 0.45
ASKEW = 0.1
HYPHEN_AT_LINE_END = 2
SOFT_HYPHEN = 0xAD
MAX_CHARACTERS = 200_000
LIGATURES = {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}


@dataclass(frozen=True)
class TextRun:
    """A run of text; `y` is its baseline, counted upwards from the foot of the page."""

    text: str
    left: float
    right: float
    y: float
    size: float
    bold: bool = False
    mono: bool = False

    @property
    def width(self) -> float:
        return self.right - self.left


@dataclass(frozen=True, slots=True)
class _Letter:
    index: int
    text: str
    left: float
    right: float
    y: float
    size: float
    turn: int


def read_text_runs(textpage: Any) -> list[TextRun]:
    """The pieces of one page in the order in which they were drawn."""
    letters = _letters(textpage)
    turns = Counter(letter.turn for letter in letters)
    if not turns:
        return []
    turn = turns.most_common(1)[0][0]
    runs: list[list[_Letter]] = []
    last: _Letter | None = None
    for letter in letters:
        if letter.turn != turn:
            continue
        if letter.text != " ":
            if last is None or _parted(last, letter):
                runs.append([])
            last = letter
        if runs:
            runs[-1].append(letter)
    return _without_doubles([_piece(textpage, run) for run in runs])


def _letters(textpage: Any) -> list[_Letter]:
    """Letters with their places as if the page were upright."""
    raw = textpage.raw
    box, matrix = pdfium.FS_RECTF(), pdfium.FS_MATRIX()
    x, y = ctypes.c_double(), ctypes.c_double()
    letters: list[_Letter] = []
    guessed = False
    for index in range(min(textpage.count_chars(), MAX_CHARACTERS)):
        text = _sign(pdfium.FPDFText_GetUnicode(raw, index))
        if not text:
            continue
        if text == " ":
            if letters and letters[-1].text != " ":
                letters.append(_blank(letters[-1], index))
                guessed = bool(pdfium.FPDFText_IsGenerated(raw, index))
            continue
        pdfium.FPDFText_GetMatrix(raw, index, matrix)
        turn = _turn(matrix.a, matrix.b)
        if turn is None:  # a watermark across the page
            continue
        pdfium.FPDFText_GetLooseCharBox(raw, index, box)
        pdfium.FPDFText_GetCharOrigin(raw, index, x, y)
        size = pdfium.FPDFText_GetFontSize(raw, index) * math.hypot(matrix.c, matrix.d) or 1.0
        left, right, base = (
            (box.left, box.right, y.value),
            (box.bottom, box.top, -x.value),
            (-box.right, -box.left, -y.value),
            (-box.top, -box.bottom, x.value),
        )[turn]
        if not all(map(math.isfinite, (left, right, base, size))):
            continue
        letter = _Letter(index, text, min(left, right), max(left, right), base, size, turn)
        if guessed and len(letters) > 1 and letters[-1].text == " " and _touch(letters[-2], letter):
            letters.pop()
        letters.append(letter)
    return letters


def _sign(code: int) -> str:
    """What a code stands for: nothing, a space, or text."""
    if code in LIGATURES:
        return LIGATURES[code]
    if code == HYPHEN_AT_LINE_END:
        return "-"
    if not 0 < code < 0x110000 or code == SOFT_HYPHEN:
        return ""
    text = chr(code)
    if text.isspace():
        return " "
    return "" if unicodedata.category(text) in ("Cc", "Cs") else text


def _turn(a: float, b: float) -> int | None:
    """How often the line of writing is turned by a right angle."""
    if abs(b) <= ASKEW * abs(a):
        return 0 if a > 0 else 2
    if abs(a) <= ASKEW * abs(b):
        return 1 if b > 0 else 3
    return None


def _touch(last: _Letter, letter: _Letter) -> bool:
    """PDFium sees a space in some ligatures."""
    return last.y == letter.y and abs(letter.left - last.right) < 0.08 * letter.size


def _blank(before: _Letter, index: int) -> _Letter:
    return _Letter(index, " ", before.right, before.right, before.y, before.size, before.turn)


def _parted(last: _Letter, letter: _Letter) -> bool:
    size = max(last.size, letter.size)
    if abs(letter.y - last.y) > SAME_LINE * size:
        return True
    if abs(letter.left - last.left) < 0.05 * size:  # both are of one ligature
        return False
    gap = letter.left - last.right
    if gap < 0 and unicodedata.bidirectional(letter.text[0]) in ("R", "AL"):
        gap = last.left - letter.right
    return gap > WIDE_GAP * size or gap < -0.6 * size


def _piece(textpage: Any, run: list[_Letter]) -> TextRun:
    while run[-1].text == " ":
        run.pop()
    letters = [letter for letter in run if letter.text != " "]
    size = Counter(round(letter.size, 1) for letter in letters).most_common(1)[0][0]
    # The baseline of most letters: indices stand above or below it.
    y = Counter(round(letter.y, 1) for letter in letters).most_common(1)[0][0]
    samples = {letters[0].index, letters[len(letters) // 2].index, letters[-1].index}
    styles = [_style(textpage, index) for index in samples]
    return TextRun(
        text="".join(letter.text for letter in run),
        left=min(letter.left for letter in letters),
        right=max(letter.right for letter in letters),
        y=y,
        size=size,
        bold=all(bold for bold, _ in styles),
        mono=all(mono for _, mono in styles) or _of_one_width(letters, size),
    )


def _of_one_width(letters: list[_Letter], size: float) -> bool:
    """A font for code need not say so; in others an `i` is narrower than an `m`."""
    widths = {
        letter.text: letter.right - letter.left for letter in letters if letter.text.isalpha()
    }
    return len(widths) > 4 and max(widths.values()) - min(widths.values()) < 0.03 * size


def _style(textpage: Any, index: int) -> tuple[bool, bool]:
    name = ctypes.create_string_buffer(128)
    flags = ctypes.c_int()
    pdfium.FPDFText_GetFontInfo(textpage.raw, index, name, len(name), flags)
    font = name.value.decode("utf-8", "replace")
    bold = pdfium.FPDFText_GetFontWeight(textpage.raw, index) >= BOLD_WEIGHT
    mono = bool(flags.value & FIXED_PITCH) or bool(MONO_NAME.search(font))
    return bold or bool(BOLD_NAME.search(font)), mono


def _without_doubles(pieces: list[TextRun]) -> list[TextRun]:
    """Bold print is sometimes made by printing twice."""
    seen: set[tuple[str, int, int]] = set()
    kept: list[TextRun] = []
    for piece in pieces:
        column, row = round(piece.left / 2), round(piece.y / 2)
        near = {(piece.text, column + a, row + b) for a in (-1, 0, 1) for b in (-1, 0, 1)}
        if len(piece.text) > 1 and near & seen:
            continue
        seen.add((piece.text, column, row))
        kept.append(piece)
    return kept
