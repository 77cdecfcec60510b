"""What the package brings along: all of it pinned, and under licences that ask nothing of users."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
EXTRAS = ("all", "pdf", "rst")
OWN = {"bythebook", "bythebook-reader"}
# The word GPL also stands in texts of other licences, such as a choice between two.
COPYLEFT = re.compile(r"\b(?:A?GPL|Affero|GNU General Public)", re.IGNORECASE)
WEAK = re.compile(r"\bLGPL|Lesser", re.IGNORECASE)


def brought(extras: tuple[str, ...]) -> Iterator[Distribution]:
    """What is installed for the package itself, to the last dependency of a dependency."""
    seen: set[tuple[str, str]] = set()
    wanted = [("bythebook", extra) for extra in ("", *extras)]
    while wanted:
        name, extra = wanted.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        try:
            found = distribution(name)
        except PackageNotFoundError:
            continue
        if not extra:
            yield found
        for text in found.requires or ():
            needs = Requirement(text)
            if needs.marker is None or needs.marker.evaluate({"extra": extra}):
                inner = canonicalize_name(needs.name)
                wanted += [(inner, each) for each in ("", *needs.extras)]


def pinned() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.split("==") for line in lines if "==" in line and not line.startswith("#"))
    return {canonicalize_name(name): version.split(";")[0].strip() for name, version in pairs}


def test_every_dependency_is_pinned() -> None:
    known = pinned()
    names = {canonicalize_name(each.name) for each in brought((*EXTRAS, "dev"))} - OWN
    assert len(names) > 60
    assert not sorted(names - set(known))


def test_constraints_hold_nothing_but_versions() -> None:
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            assert re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+( ?; ?.+)?", line), line


def licence_of(found: Distribution) -> str:
    told: Any = found.metadata
    named = [line for line in told.get_all("Classifier") or () if line.startswith("License ::")]
    # The whole text of a licence may stand in the field; its first line is its name.
    own = (told.get("License-Expression") or told.get("License") or "").strip().splitlines()[:1]
    return "; ".join([*named, *own])


def test_no_licence_that_binds_who_runs_it() -> None:
    licences = {each.name: licence_of(each) for each in brought(EXTRAS)}
    assert licences["bythebook"].startswith("Apache-2.0") or "Apache" in licences["bythebook"]
    bad = {
        name: licence
        for name, licence in licences.items()
        if COPYLEFT.search(WEAK.sub("", licence))
        and not re.search(r"\bOR\b|BSD|Public Dom", licence)
    }
    assert not bad
