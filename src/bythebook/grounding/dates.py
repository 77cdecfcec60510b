"""Dates, however they are written: 2024-03-12 = March 12, 2024 = 12 March 2024."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_MONTHS = "january february march april may june july august september october november december"
MONTHS = {name: number for number, name in enumerate(_MONTHS.split(), 1)}
MONTHS |= {name[:3]: number for name, number in MONTHS.items()} | {"sept": 9}
_MONTH = rf"(?:{'|'.join(sorted(MONTHS, key=len, reverse=True))})\.?"
_DAY, _YEAR = r"(?:[12]\d|3[01]|0?[1-9])", r"[12]\d{3}"
DATE = re.compile(
    rf"\b(?P<year1>{_YEAR})-(?P<month1>0\d|1[0-2])-(?P<day1>[0-3]\d)\b"
    rf"|\b(?P<day2>{_DAY})(?:st|nd|rd|th)? (?:of )?(?P<month2>{_MONTH}),? (?P<year2>{_YEAR})\b"
    rf"|\b(?P<month3>{_MONTH}) (?P<day3>{_DAY})(?:st|nd|rd|th)?,? (?P<year3>{_YEAR})\b"
    rf"|\b(?P<month4>{_MONTH}),? (?:of )?(?P<year4>{_YEAR})\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Date:
    """`day` is 0 where only a month is named."""

    year: int
    month: int
    day: int
    start: int
    end: int
    shown: str

    def agrees(self, other: Date) -> bool:
        """Whether the other one says this date: "March 2024" is said by "12 March 2024"."""
        same = (self.year, self.month) == (other.year, other.month)
        return same and self.day in (0, other.day)


def dates_of(text: str) -> Iterator[Date]:
    for found in DATE.finditer(text):
        parts = {name[:-1]: value for name, value in found.groupdict().items() if value}
        named = parts["month"].rstrip(".").lower()
        month = MONTHS[named] if named in MONTHS else int(named)
        day = int(parts.get("day", 0))
        yield Date(int(parts["year"]), month, day, *found.span(), found[0])
