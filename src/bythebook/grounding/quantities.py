"""Numbers with their units and dates, however they are written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from math import isclose

# A word that holds digits (RT-2, mu2) is a name, not a number.
SCAN = re.compile(
    r"(?P<word>(?![vV]\d)[^\W\d_]\w*(?:[-'’]\w+)*)"
    r"|(?P<currency>[$€£])?(?P<sign>(?<![\w)])[-−])?[vV]?"
    r"(?P<digits>\d+(?:[.,]\d+)*(?:[eE]-?\d{1,2}(?!\w))?)(?P<suffix>\s?%|\s?°[CF]?|[^\W\d_]+(?:/\w+)?)?"
)
WORD = re.compile(r"[^\W\d_]+|[%°]")
THOUSANDS = re.compile(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?$")
AND_A_HALF = re.compile(r"[ -]and[ -]a[ -]half\b", re.IGNORECASE)
HALF_OF_ONE = re.compile(r"\bhalf[ -]an?[ -](?P<word>[^\W\d_]+)", re.IGNORECASE)
SLASH = re.compile(r"/[^\W\d_]+")
BETWEEN = re.compile(r"\s*(?:to|and|or|through|bis|und|oder|[-–—/,])\s*$", re.IGNORECASE)

_NAMES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
)
SMALL = {name: value for value, name in enumerate(_NAMES.split())}
TENS = {
    name: 10 * value
    for value, name in enumerate(
        "twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2
    )
}
SCALES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "dozen": 12}

_UNITS = """
s: s sec secs second seconds; ms: ms millisecond milliseconds
us: us µs μs microsecond microseconds; ns: ns nanosecond nanoseconds
min: min mins minute minutes; h: h hr hrs hour hours; day: day days; week: week weeks
month: month months; year: year years; century: century centuries; m: m meter meters metre metres
cm: cm centimeter centimeters centimetre centimetres
mm: mm millimeter millimeters millimetre millimetres; um: µm μm um micrometer micrometers
km: km kilometer kilometers kilometre kilometres; inch: inch inches; ft: ft foot feet
mile: mile miles; g: g gram grams; mg: mg milligram milligrams; t: ton tons tonne tonnes
kg: kg kilogram kilograms kilo kilos; lb: lb lbs pound pounds; l: l liter liters litre litres
n: n newton newtons; v: v volt volts; a: amp amps ampere amperes; w: w watt watts; kw: kw
hz: hz hertz; khz: khz kilohertz; mhz: mhz megahertz; ghz: ghz gigahertz; fps: fps; rpm: rpm
bit: bit bits; byte: byte bytes; kb: kb kilobyte kilobytes; mb: mb megabyte megabytes
gb: gb gigabyte gigabytes; tb: tb terabyte terabytes; kib: kib; mib: mib; gib: gib; tib: tib
%: % percent pct; deg: ° deg degree degrees; rad: rad radian radians; c: °c celsius
f: °f fahrenheit; m/s: m/s; km/h: km/h kph; mph: mph
bit/s: bit/s bps; kbit/s: kbit/s kbps; mbit/s: mbit/s mbps; gbit/s: gbit/s gbps
px: px pixel pixels; token: token tokens; step: step steps; $: dollar dollars usd
€: euro euros eur; times: times x; fold: fold
"""
UNITS = {
    word: unit.strip()
    for group in re.split(r"[;\n]", _UNITS)
    if ":" in group
    for unit, words in [group.strip().split(":", 1)]
    for word in words.split()
}


# Units of one kind, each as so many of the first.
_KINDS = """
ns 1 us 1e3 ms 1e6 s 1e9 min 60e9 h 3600e9 day 86400e9 week 604800e9
um 1 mm 1e3 cm 1e4 m 1e6 km 1e9; inch 1 ft 12 mile 63360; mg 1 g 1e3 kg 1e6 t 1e9
hz 1 khz 1e3 mhz 1e6 ghz 1e9; w 1 kw 1e3; month 1 year 12 century 1200
bit 1 byte 8 kb 8e3 mb 8e6 gb 8e9 tb 8e12 kib 8192 mib 8388608 gib 8589934592 tib 8796093022208
bit/s 1 kbit/s 1e3 mbit/s 1e6 gbit/s 1e9; km/h 1 m/s 3.6 mph 1.609344
"""
# Many write KB where they mean 1024 bytes.
BINARY = {"byte": 1.0, "kb": 1024.0, "mb": 1024.0**2, "gb": 1024.0**3, "tb": 1024.0**4}
# What is counted is not always named: "100 times" for a loop from 1 to 100.
COUNTS = ("step", "times", "token", "fold")
FACTORS = {
    unit: (kind, float(factor))
    for kind, group in enumerate(re.split(r"[;\n]", _KINDS.strip()))
    for unit, factor in zip(group.split()[::2], group.split()[1::2], strict=True)
}


@dataclass(frozen=True, slots=True)
class Number:
    """`value` is canonical; `unit` is empty where none is written."""

    value: str
    unit: str
    start: int
    end: int
    shown: str
    spelled: bool = False


def numbers_of(text: str, *, with_one: bool = True) -> list[Number]:
    """Every number of a bare text. The word "one" is a number only with a unit, unless told."""
    found = sorted([*_scan(text), *_halves(text)], key=lambda number: number.start)
    for index in range(len(found) - 2, -1, -1):
        number, following = found[index], found[index + 1]
        # In "1 to 4 ms" the unit belongs to both.
        if not number.unit and BETWEEN.match(text[number.end : following.start]):
            found[index] = replace(number, unit=following.unit)
    return [
        number
        for number in found
        if with_one or not (number.spelled and number.value == "1" and not number.unit)
    ]


def _scan(text: str) -> Iterator[Number]:
    scanned = list(SCAN.finditer(text))
    index = 0
    while index < len(scanned):
        found = scanned[index]
        index += 1
        spelled = found["word"] is not None
        value = _spelled(found["word"]) if spelled else _digits(found)
        if value is None:
            continue
        end = found.end()
        unit = "" if spelled else _suffix_unit(found["digits"], found["suffix"] or "")
        if not spelled and found["currency"]:
            unit = {"$": "$", "€": "€"}.get(found["currency"], found["currency"])
        while index < len(scanned) and scanned[index]["word"] and _close(text, end, scanned[index]):
            word = scanned[index]["word"].lower()
            scale = SCALES.get(word)
            if scale and not unit:
                value = _times(value, scale)
            elif spelled and word in SMALL and int(value) % 10 == 0 and int(value) >= 20:
                value = str(int(value) + SMALL[word])
            else:
                break
            end = scanned[index].end()
            index += 1
        if not unit and (half := AND_A_HALF.match(text, end)):
            value, end = _halved(value), half.end()
            while index < len(scanned) and scanned[index].start() < end:
                index += 1
        if not unit and index < len(scanned) and _close(text, end, scanned[index]):
            unit = UNITS.get((scanned[index]["word"] or "").lower(), "")
            per = SLASH.match(text, scanned[index].end())
            rate = per and UNITS.get(text[scanned[index].start() : per.end()].lower())
            if per and rate:
                yield Number(
                    value, rate, found.start(), per.end(), text[found.start() : per.end()], spelled
                )
                continue
            if unit == "s" and scanned[index]["word"] == "second":
                # "the two second arms": only the plural and the abbreviation are sure.
                unit = "s" if value == "1" or "-" in text[end : scanned[index].start()] else ""
            if unit:
                end = scanned[index].end()
                named_scale = scanned[index + 1 : index + 2]
                if unit == "deg" and named_scale and _close(text, end, named_scale[0]):
                    named = UNITS.get((named_scale[0]["word"] or "").lower(), "")
                    if named in ("c", "f"):
                        unit, end = named, named_scale[0].end()
        yield Number(value, unit, found.start(), end, text[found.start() : end].strip(), spelled)


def _halves(text: str) -> Iterator[Number]:
    """Half an hour, half a million."""
    for found in HALF_OF_ONE.finditer(text):
        word = found["word"].lower()
        if word in UNITS or word in SCALES:
            value = _times("0.5", SCALES.get(word, 1))
            yield Number(value, UNITS.get(word, ""), *found.span(), found[0], spelled=True)


# What a passage says of a quantity without a number: it counts as evidence, never as a claim.
IMPLIED = re.compile(
    r"(?<!half )(?<!half-)\b(?:an?|per|each|every)[ -](?P<one>[^\W\d_]{2,})"
    r"|\b(?P<part>half|(?:a|one)[ -]quarter|three[ -]quarters)\b(?![ -]an?\b)"
    r"|\b(?P<twice>twice)\b|\b(?P<digits>\d+(?:\.\d+)?)(?P<scale>[kKMB])(?!\w)",
    re.IGNORECASE,
)
PARTS = {"half": "0.5", "a quarter": "0.25", "one quarter": "0.25", "three quarters": "0.75"}
SHORT_SCALES = {"k": 10**3, "K": 10**3, "M": 10**6, "B": 10**9}


def implied_numbers(text: str) -> Iterator[Number]:
    """An hour, half of them, twice, 2M."""
    for found in IMPLIED.finditer(text):
        value, unit = "1", ""
        if found["one"]:
            unit = UNITS.get(found["one"].lower(), "")
        elif found["part"]:
            value = PARTS[found["part"].lower().replace("-", " ")]
        elif found["twice"]:
            value, unit = "2", "times"
        elif found["scale"] in SHORT_SCALES:
            value = _times(found["digits"], SHORT_SCALES[found["scale"]])
        if value != "1" or unit:
            yield Number(value, unit, *found.span(), found[0], spelled=True)


def _close(text: str, end: int, following: re.Match[str]) -> bool:
    return text[end : following.start()] in {" ", "-", "\n", "\u00a0"}


def _spelled(word: str) -> str | None:
    parts = word.lower().split("-")
    if parts[0] in TENS:
        if len(parts) == 1:
            return str(TENS[parts[0]])
        return str(TENS[parts[0]] + SMALL[parts[1]]) if parts[1] in SMALL else None
    if parts[0] in SMALL:
        return str(SMALL[parts[0]])
    return None


def _digits(found: re.Match[str]) -> str | None:
    suffix = (found["suffix"] or "").strip().lower()
    if suffix and suffix not in UNITS and suffix not in {"st", "nd", "rd", "th"}:
        return None
    digits: str = found["digits"]
    if "e" in digits.lower():
        return ("-" if found["sign"] else "") + _plain(digits)
    if THOUSANDS.match(digits):
        digits = digits.replace(",", "")
    elif digits.count(",") == 1 and "." not in digits:
        digits = digits.replace(",", ".")
    whole, point, rest = digits.partition(".")
    if point and "." not in rest:
        if not rest.strip("0"):
            digits = whole
        elif whole == "0":
            digits = f"0.{rest.rstrip('0')}"
    return ("-" if found["sign"] else "") + digits


def _plain(digits: str) -> str:
    """2e-5 as 0.00002."""
    return f"{Decimal(digits.replace(',', '.')).normalize():f}"


def _suffix_unit(digits: str, suffix: str) -> str:
    suffix = suffix.strip().lower()
    is_decade = suffix == "s" and len(digits) == 4 and digits.isdigit()
    return "" if is_decade else UNITS.get(suffix, "")


def _times(value: str, scale: int) -> str:
    try:
        product = float(value.replace(",", "")) * scale
    except ValueError:
        return value
    return f"{product:.6f}".rstrip("0").rstrip(".")


def _halved(value: str) -> str:
    """Two and a half."""
    try:
        return f"{float(value) + 0.5:g}"
    except ValueError:  # a version
        return value


def same_quantity(ours: Number, theirs: Number) -> bool:
    """Whether two numbers say the same: a unit that ours has, theirs must have too, or another one
    of its kind (2000 ms, 2 seconds)."""
    if ours.value == theirs.value and ours.unit in ("", theirs.unit, *COUNTS):
        return True
    if {ours.unit, theirs.unit} == {"%", ""}:
        whole, share = (ours, theirs) if ours.unit else (theirs, ours)
        return _same(whole.value, 0.01, share.value, 1.0)
    kind, factor = FACTORS.get(ours.unit, (-1, 0.0))
    their_kind, their_factor = FACTORS.get(theirs.unit, (-2, 0.0))
    if kind == their_kind and _same(ours.value, factor, theirs.value, their_factor):
        return True
    binary = BINARY.get(ours.unit), BINARY.get(theirs.unit)
    return None not in binary and _same(
        ours.value, binary[0] or 0.0, theirs.value, binary[1] or 0.0
    )


def _same(one: str, factor: float, other: str, other_factor: float) -> bool:
    try:
        return isclose(float(one) * factor, float(other) * other_factor)
    except ValueError:  # a version, such as 1.2.3
        return False


def units_named(text: str) -> frozenset[str]:
    """Units that stand apart from a number: "the period is given in seconds", "Timeout (s)"."""
    return frozenset(UNITS[word] for word in WORD.findall(text.lower()) if word in UNITS)


# How a text may say that something is counted by the minute.
RATE = re.compile(r"\bper[ -](second|minute|hour|day|week|month|year)\b", re.IGNORECASE)
RATES = {
    "second": re.compile(r"\bsec|/ ?s\b|\bs\b|hz\b|(?<=\w)ps\b", re.IGNORECASE),
    "minute": re.compile(r"\bmin|(?<=\w)pm\b", re.IGNORECASE),
    "hour": re.compile(r"\bhour|\bhr|\bh\b|\bkph\b|\bmph\b", re.IGNORECASE),
    "day": re.compile(r"\bda(?:y|ily)", re.IGNORECASE),
    "week": re.compile(r"\bweek", re.IGNORECASE),
    "month": re.compile(r"\bmonth", re.IGNORECASE),
    "year": re.compile(r"\byear|\byr|\bannual", re.IGNORECASE),
}


def rates_missing(claim: str, evidence: str) -> Iterator[str]:
    """Rates of a claim whose unit of time the evidence never names."""
    for found in RATE.finditer(claim):
        if not RATES[found[1].lower()].search(evidence):
            yield found[0]


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


TIME = re.compile(
    r"\b(?P<hour1>1[0-2]|0?[1-9])(?::(?P<minute1>[0-5]\d))?\s?(?P<half1>[ap])(?:m\b|\.\s?m\b\.?)"
    r"|(?<![\w:.])(?P<hour2>[01]?\d|2[0-3]):(?P<minute2>[0-5]\d)(?::[0-5]\d)?(?![\w:])"
    r"|\b(?P<named3>noon|midday|midnight)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Time:
    """A time of the day. It is `sure` where it can't be twelve hours later as well."""

    hour: int
    minute: int
    sure: bool
    start: int
    end: int
    shown: str
    named: bool = False

    def same_on_the_clock(self, other: Time) -> bool:
        return (self.hour % 12, self.minute) == (other.hour % 12, other.minute)

    def agrees(self, other: Time) -> bool:
        both = self.sure and other.sure
        return self.same_on_the_clock(other) and not (both and self.hour != other.hour)


def times_of(text: str) -> Iterator[Time]:
    for found in TIME.finditer(text):
        parts = {name[:-1]: value for name, value in found.groupdict().items() if value}
        named, half = parts.get("named", ""), parts.get("half", "")
        hour = 0 if named.lower() == "midnight" else int(parts.get("hour", 12))
        if half:
            hour = hour % 12 + (12 if half.lower() == "p" else 0)
        sure = bool(named or half) or not 0 < hour < 13
        minute = int(parts.get("minute", 0))
        yield Time(hour, minute, sure, *found.span(), found[0], bool(named))
