"""Inputs that are nearly right: samples with pieces changed, doubled, cut and mixed."""

from __future__ import annotations

import io
import random
import zipfile
from collections.abc import Callable

Change = Callable[[list[bytes], random.Random], bytes]

PIECES = [
    *(b"\0", b"\xff\xfe", b"\r\n", b"\xe2\x80\x8b", b"\xed\xa0\x80", b"---\n", b"+++\n", b"../"),
    *(
        b"{{",
        b"}}",
        b"[[",
        b"<!--",
        b"-->",
        b"<![CDATA[",
        b"<!DOCTYPE a [<!ENTITY b 'c'>]>",
        b"&b;",
    ),
    *(b"```", b"~~~", b"|", b":::", b"<Tabs>", b"</", b"!!python/object:os.system ", b"&a *a"),
    *(b"9" * 400, b"1e999", b"-1", b"NaN", b"null", b"true", b'"', b"'", b"\\u0000", b"\\", b"="),
    *(b" " * 300, b"\t" * 100, b"[" * 300, b"(" * 300, b"*" * 100, b"#" * 20, b"PK\x01\x02"),
]


# What text, markup and JSON are nested and repeated with.
SIGNS = [
    *rb"""\" [ { {"a": ( < </ <b> <a <!-- & &a ![ [a]( ` * _ ~ | - # : .. = =" + $ % \ ' a. 1.
    a, a; , {{ <% @ :// / ../""".split(),
    *(b"\n", b" \n", b"  - a\n", b"a:\n", b"a-\n", b"a ", b"a, ", b"| a ", b"- ", b"> ", b"&a "),
    *(b"\xcc\x88", b"\xc3"),
]
LARGEST = 100_000


def mutated(samples: list[bytes], rng: random.Random, grown: float = 0.0) -> bytes:
    """One of the samples, changed, or grown as often as that; of an archive every other time what
    is packed in it, since a change outside seldom gets past the archive's own checks."""
    change = _grown if rng.random() < grown else _changed
    packed = [sample for sample in samples if sample.startswith(b"PK")]
    if packed and rng.random() < 0.5:
        return _repacked(rng.choice(packed), rng, change)
    return change(samples, rng)


def _repacked(sample: bytes, rng: random.Random, change: Change) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(sample)) as old, zipfile.ZipFile(made, "w") as new:
        names = old.namelist()
        chosen = rng.choice(names)
        for name in names:
            data = old.read(name)
            new.writestr(name, change([data], rng) if name == chosen else data)
    return made.getvalue()


def _grown(samples: list[bytes], rng: random.Random) -> bytes:
    """A piece of it, or a sign, stands there thousands of times: what takes more than linear time
    takes long then."""
    data = rng.choice(samples)
    at = rng.randint(0, len(data))
    piece = data[at : at + rng.randint(1, 40)] if rng.random() < 0.5 else rng.choice(SIGNS)
    times = rng.randint(1_000, LARGEST) // max(1, len(piece))
    return data[:at] + piece * times + data[at:]


def _changed(samples: list[bytes], rng: random.Random) -> bytes:
    data = bytearray(rng.choice(samples))
    for _ in range(rng.randint(1, 8)):
        at = rng.randint(0, len(data))
        until = min(len(data), at + rng.randint(1, 30))
        match rng.randrange(7):
            case 0 if data:
                data[min(at, len(data) - 1)] = rng.randrange(256)
            case 1:
                del data[at:until]
            case 2:
                data[at:at] = rng.choice(PIECES)
            case 3:
                data[at:at] = data[at:until] * rng.randint(1, 20)
            case 4:
                data[at:until] = rng.choice(PIECES)
            case 5:
                other = rng.choice(samples)
                start = rng.randint(0, len(other))
                data[at:] = other[start:]
            case _:
                data[at:at] = rng.randbytes(rng.randint(1, 20))
    return bytes(data)
