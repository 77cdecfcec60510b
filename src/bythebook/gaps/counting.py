"""Questions counted by wording, and wordings of one meaning counted as one gap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from bythebook.gaps.wording import plain
from bythebook.models.asked_question import SectionLink
from bythebook.models.gap import MAX_REASONS, MAX_WORDINGS, Gap
from bythebook.questions import Unanswered

# A book and a question in plain words.
Wording = tuple[str, str]


def by_wording(asked: Iterable[Unanswered]) -> dict[Wording, list[Unanswered]]:
    """In an order of their own, whatever order they come in."""
    found: dict[Wording, list[Unanswered]] = {}
    for one in asked:
        found.setdefault((one.book_id, plain(one.question)), []).append(one)
    return dict(sorted(found.items()))


def gap_of(wordings: Sequence[Sequence[Unanswered]]) -> Gap:
    """One gap of all these; each wording is given by its askings, the centre's first."""
    # Sorting keeps what is equal in order, so that the centre stands for a group asked once each.
    ranked = sorted(wordings, key=lambda askings: -len(askings))
    written = [_as_written(askings) for askings in ranked]
    every = [one for askings in wordings for one in askings]
    newest = sorted(every, key=lambda one: (one.asked_at, one.reason or ""), reverse=True)
    return Gap(
        question=written[0],
        wordings=written[1 : MAX_WORDINGS + 1],
        different=len(written),
        book_id=every[0].book_id,
        asked=len(every),
        sessions=len({one.session_id for one in every}),
        refused=sum(one.outcome == "refused" for one in every),
        low=sum(one.outcome == "answered" for one in every),
        nearest=_nearest(every),
        up=sum(one.rating == "up" for one in every),
        down=sum(one.rating == "down" for one in every),
        reasons=[one.reason for one in newest if one.reason][:MAX_REASONS],
        last_asked=newest[0].asked_at,
    )


def most_asked_first(gap: Gap) -> tuple[int, int, float, str, str]:
    return (-gap.asked, -gap.sessions, -gap.last_asked.timestamp(), gap.book_id, gap.question)


def _as_written(askings: Sequence[Unanswered]) -> str:
    written = Counter(" ".join(one.question.split()) for one in askings)
    return min(written, key=lambda text: (-written[text], -len(text), text))


def _nearest(asked: Iterable[Unanswered]) -> SectionLink | None:
    """The section that came first most often."""
    firsts = Counter(_link(one.nearest[0]) for one in asked if one.nearest)
    if not firsts:
        return None
    title, url = min(firsts, key=lambda section: (-firsts[section], section))
    return SectionLink(title=title, url=url or None)


def _link(section: str | dict[str, str | None]) -> tuple[str, str]:
    """Questions that were noted before the links were have titles only."""
    if isinstance(section, str):
        return section, ""
    return str(section["title"]), section.get("url") or ""
