"""A code block is supported when the passage has its lines, in their order."""

from __future__ import annotations

import re

from bythebook.grounding.words import STRAIGHT

FENCED = re.compile(
    r"^[ \t>]*(?P<fence>`{3,}|~{3,})[^\n]*\n(?P<code>[\s\S]*?)(?:^[ \t>]*(?P=fence)|\Z)",
    re.MULTILINE,
)
CONTINUED = re.compile(r"\\\n\s*")
PROMPT = re.compile(r"^\s*(?:\$|>>>|\.\.\.) ")
LEFT_OUT = re.compile(r"^\s*(?:#|//|--|;|<!--)?\s*(?:\.\.\.|…)\s*(?:-->)?$")
SPAN = re.compile(r"`([^`\n]+)`")


def is_code(unit: str) -> bool:
    return unit.lstrip().startswith(("```", "~~~"))


def missing_lines(claim: str, evidence: str) -> tuple[str, ...]:
    """Why a fenced block is not the passage's."""
    found = FENCED.search(claim.strip() + "\n")
    wanted = _lines(found["code"] if found else "")
    if not wanted:
        return ("it is an empty block",)
    blocks = "\n".join(block["code"] for block in FENCED.finditer(evidence + "\n"))
    offered = [*_lines(blocks), *(_normal(span) for span in SPAN.findall(evidence))]
    missing = [line for line in wanted if line not in set(offered)]
    if missing:
        return tuple(f"the line “{_short(line)}” is not in the passage's code" for line in missing)
    rest = iter(_lines(blocks))
    in_code = [line for line in wanted if line in set(_lines(blocks))]
    if not all(line in rest for line in in_code):
        return ("its lines stand in another order in the passage",)
    return ()


def _lines(code: str) -> list[str]:
    joined = CONTINUED.sub(" ", code)
    return [
        _normal(line) for line in joined.splitlines() if line.strip() and not LEFT_OUT.match(line)
    ]


def _normal(line: str) -> str:
    return " ".join(PROMPT.sub("", line).translate(STRAIGHT).split())


def _short(line: str) -> str:
    return line if len(line) <= 60 else line[:59] + "…"
