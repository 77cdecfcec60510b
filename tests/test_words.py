"""Code and docs say what a thing is; docs/engineering/origins.md says where it came from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# The tests' folder has that name.
LABELS = re.compile(r"\bS[0-4]\b|\bthe seeds\b|(?<!tests/)\bcontract\b")
ORIGINS = ROOT / "docs" / "engineering" / "origins.md"
FILES = [
    file
    for folder in ("src", "docs")
    for kind in ("*.py", "*.md", "*.html", "*.js")
    for file in sorted((ROOT / folder).rglob(kind))
    if "sample_book" not in file.parts
]


def test_no_label_of_a_document_is_left() -> None:
    assert len(FILES) > 300
    found = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for file in FILES
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1)
        if LABELS.search(line)
    ]
    assert found == []


@pytest.mark.parametrize("label", ["S0's states", "as S3 defines", "the seeds' shapes", "contract"])
def test_a_label_would_be_found(label: str) -> None:
    assert LABELS.search(label)


def test_what_the_origins_name_is_there() -> None:
    text = ORIGINS.read_text("utf-8")
    package = ROOT / "src" / "bythebook"
    modules = re.findall(r"`(\w+/\w+\.py)`", text)
    assert len(modules) > 10 and all((package / module).is_file() for module in modules)
    defined = {
        name
        for file in package.rglob("*.py")
        for name in re.findall(r"^class (\w+)", file.read_text("utf-8"), re.MULTILINE)
    }
    classes = set(re.findall(r"`([A-Z][a-z]+\w*)`", text))
    assert len(classes) >= 15 and classes <= defined
