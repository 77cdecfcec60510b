"""The configured language model, examined with a real question."""

from __future__ import annotations

from collections.abc import Sequence

from bythebook.errors import BookError
from bythebook.evaluation.model_trial import (
    QUESTION,
    AnswerTrial,
    ToolTrial,
    WatchedModel,
    for_trial,
    other_models,
    server_message,
    trial_library,
    try_answer,
    try_tool,
)
from bythebook.library import Library
from bythebook.models.service_health import Check, DoctorReport
from bythebook.models.values import shown_address
from bythebook.settings import Settings

GUIDE = "docs/models.md"
# Longer, and readers leave.
PATIENCE = 20.0
# Of ten sentences; below it, a larger model pays.
MOST_HOLD = 0.7
NAMED = 8
# A server may send so few in one piece.
FEW_WORDS = 8


async def examine_model(
    report: DoctorReport,
    library: Library,
    asked: tuple[str, str] | None,
    settings: Settings | None = None,
) -> None:
    """`asked` is a book and a question that it answers; without one, a page that ships with
    bythebook is asked. The model is that of the `settings`, else of the library's own."""
    settings = for_trial(settings or library.settings)
    try:
        model = WatchedModel(settings)
    except BookError as problem:
        report.add(_unreachable(problem))
        return
    try:
        try:
            tool = await try_tool(model, settings)
        except BookError as problem:
            other_names = await other_models(settings, problem)
            report.add(_unreachable(problem, other_names, server_message(problem)))
            return
        place = f"{settings.openai_model} at {shown_address(settings.openai_base_url)}"
        report.add(
            Check(
                "model: reachable",
                True,
                f"{place} answered in {tool.seconds:.1f} s",
                figures={"seconds": round(tool.seconds, 2)},
            )
        )
        report.add(_tool_calls(tool, settings.tool_name))
        if asked:
            trial = await try_answer(library, settings, model, asked[1], asked[0])
        else:
            async with trial_library(settings) as (own, book_id):
                trial = await try_answer(own, settings, model, QUESTION, book_id)
    except BookError as problem:  # the page could not be read into an index
        report.add(Check("model: sentences", False, problem.message, problem.action))
        return
    finally:
        await model.close()
    report.add(_streaming(trial, settings.openai_stream))
    report.add(_speed(trial))
    report.add(_sentences(trial, len(model.replies)))


def _unreachable(problem: BookError, other_names: Sequence[str] = (), said: str = "") -> Check:
    message = f"{problem.message} It said: {said}" if said else problem.message
    action = problem.action or f"See {GUIDE}."
    if other_names:
        more = " and more" if len(other_names) > NAMED else ""
        action = f"Set OPENAI_MODEL to one that it has: {', '.join(other_names[:NAMED])}{more}."
    return Check("model: reachable", False, message, action)


def _tool_calls(tool: ToolTrial, name: str) -> Check:
    figures: dict[str, object] = {"called": bool(tool.called), "usable": tool.usable}
    if tool.usable:
        return Check("model: tool calls", True, f"it calls {name}", figures=figures)
    message = (
        f"it called {tool.called or name} with arguments that can't be searched for"
        if tool.called
        else f"it did not call {name}, although the request demanded it"
    )
    return Check(
        "model: tool calls",
        True,
        message,
        "Answers still work, because bythebook searches with the question itself. Questions that "
        f"lean on the one before are understood worse; {GUIDE} says what your server needs.",
        figures,
    )


def _streaming(trial: AnswerTrial, wanted: bool) -> Check:
    name, reply = "model: streaming", trial.written
    if reply is None or (reply.words < FEW_WORDS and not reply.streamed):
        return Check(name, True, "unknown, because it wrote too little", figures={"streamed": None})
    figures: dict[str, object] = {"streamed": reply.streamed, "moments": reply.moments}
    if not wanted:
        return Check(name, True, "off by OPENAI_STREAM=false", figures=figures)
    if reply.streamed:
        return Check(name, True, "words arrive as they are written", figures=figures)
    return Check(
        name,
        True,
        f"all {reply.words} words came at once",
        "Readers see nothing until the end: turn on streaming at the server, and buffering off in "
        "a proxy before it.",
        figures,
    )


def _speed(trial: AnswerTrial) -> Check:
    name, reply = "model: speed", trial.written
    figures: dict[str, object] = {"seconds": round(trial.seconds, 2)}
    if trial.problem:
        return Check(
            name,
            False,
            f"no whole answer in {trial.seconds:.0f} s: {trial.problem.message}",
            trial.problem.action,
            figures,
        )
    parts = []
    if reply and reply.seconds_to_first is not None:
        figures["seconds_to_first_words"] = round(reply.seconds_to_first, 2)
        figures["tokens"] = reply.tokens or None
        parts.append(f"first words after {reply.seconds_to_first:.1f} s")
    if reply and reply.words_a_second is not None:
        figures["words_a_second"] = round(reply.words_a_second, 1)
        parts.append(f"{reply.words_a_second:.0f} words a second")
    parts.append(f"the whole answer after {trial.seconds:.1f} s")
    slow = trial.seconds > PATIENCE
    return Check(
        name,
        True,
        ", ".join(parts),
        "That is a long wait for a reader: take a smaller model, a faster machine or fewer "
        "passages (AGENT_TOP_K)."
        if slow
        else "",
        figures,
    )


def _sentences(trial: AnswerTrial, calls: int) -> Check:
    name = "model: sentences"
    written = trial.verified + trial.removed
    figures: dict[str, object] = {
        "question": trial.question,
        "written": written,
        "held": trial.verified,
        "share": round(trial.verified / written, 3) if written else None,
        "calls": calls,
    }
    if trial.answer is None:
        return Check(name, False, "unknown, because there is no answer", figures=figures)
    if not written:
        return Check(
            name,
            True,
            f"it wrote none for {trial.question!r}, although the book answers that",
            f"Small models refuse too often; take a larger one ({GUIDE}).",
            figures,
        )
    enough = trial.verified >= MOST_HOLD * written
    return Check(
        name,
        True,
        f"{trial.verified} of {written} passed the check in the answer to {trial.question!r}",
        ""
        if enough
        else f"Sentences that fail are left out; a larger model loses fewer ({GUIDE}).",
        figures,
    )
