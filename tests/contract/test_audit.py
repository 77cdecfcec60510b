"""`audit.tsv`: all that the five documents ask for, each with the test that sees it.

A row is of a document (they are counted in the order of their files; R is the page that settles
where they contradict each other). It says what is wanted and under which name it goes here, and
names a test, or the entry of `docs/engineering/decisions.md` that says why it is not built.
"""

from __future__ import annotations

import ast
import csv
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
TABLE = Path(__file__).with_name("audit.tsv")
DECISIONS = ROOT / "docs" / "engineering" / "decisions.md"
NOT_BUILT = "not built: "
HEAD = "| not built | why |"


class Row(NamedTuple):
    document: str
    what: str
    says: str
    here: str
    test: str


def rows() -> list[Row]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        head, *found = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    assert tuple(head) == Row._fields
    return [Row(*row) for row in found]


@cache
def defined_in(file: Path) -> frozenset[str]:
    if not file.is_file():
        return frozenset()
    body = ast.parse(file.read_text(encoding="utf-8")).body
    defined = (node for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(node.name for node in defined if node.name.startswith("test_"))


@cache
def not_built() -> dict[str, str]:
    """What the page of decisions names, and its reason."""
    _, _, after = DECISIONS.read_text(encoding="utf-8").partition(HEAD)
    lines = after.strip().partition("\n\n")[0].splitlines()[1:]
    cells = (line.strip("| ").split(" | ", 1) for line in lines)
    return {name.replace("`", ""): reason for name, reason in cells}


def fault(row: Row) -> str:
    """What is wrong with a row, if anything is."""
    if row.test.startswith(NOT_BUILT):
        reason = not_built().get(row.test.removeprefix(NOT_BUILT), "")
        return "" if len(reason) > 20 else "docs/engineering/decisions.md gives no reason"
    name, _, function = row.test.partition("::")
    if function not in defined_in(ROOT / name):
        return f"there is no test {row.test}"
    if row.here not in (ROOT / name).read_text(encoding="utf-8"):
        return f"{name} never names {row.here}"
    return ""


def test_every_row_has_its_test_or_its_reason() -> None:
    faults = {f"{row.document} {row.what}": fault(row) for row in rows()}
    assert {what: wrong for what, wrong in faults.items() if wrong} == {}


def test_every_document_is_in_the_table() -> None:
    found = rows()
    assert len({row.document for row in found}) == 6
    names = [(row.document, row.what) for row in found]
    assert len(set(names)) == len(names) and len(names) > 500


def test_nothing_is_called_not_built_that_no_row_asks_for() -> None:
    wanted = {row.test.removeprefix(NOT_BUILT) for row in rows() if NOT_BUILT in row.test}
    assert not_built().keys() == wanted


@pytest.mark.parametrize(
    ("here", "test", "wrong"),
    [
        ("", "tests/contract/test_audit.py::test_of_nothing", "there is no test"),
        ("", "tests/contract/test_nowhere.py::test_of_nothing", "there is no test"),
        ("", "tests/contract/test_audit.py::fault", "there is no test"),
        ("", "", "there is no test"),
        ("Retrieval" + "Tool", "tests/contract/test_audit.py::test_a_wrong_row", "never names"),
        ("", "not built: everything", "no reason"),
    ],
)
def test_a_wrong_row(here: str, test: str, wrong: str) -> None:
    assert wrong in fault(Row("R", "something", "", here, test))
    assert fault(Row("R", "it", "", "Row", "tests/contract/test_audit.py::test_a_wrong_row")) == ""
