"""Dashboard and alert rules ask for what a running service tells."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from prometheus_client.parser import text_string_to_metric_families

from booktext import CANARIES, WriteBook
from server.running import running, until, with_model
from standins.llm_server import LlmServer, searches_then

FOLDER = Path(__file__).parents[2] / "examples" / "observability"
# What Prometheus itself adds to every figure, and tells of every target.
PROMETHEUS_LABELS = {"job", "instance"}
OF_PROMETHEUS = {"up"}
FUNCTIONS = {
    "sum", "min", "max", "by", "rate", "increase", "changes", "histogram_quantile",
    "min_over_time", "and", "or", "offset", "label_values",
}  # fmt: skip

Labels = dict[str, dict[str, set[str]]]


def rules() -> list[dict[str, Any]]:
    document = yaml.safe_load((FOLDER / "alerts.yaml").read_text(encoding="utf-8"))
    return [rule for group in document["groups"] for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    dashboard = json.loads((FOLDER / "dashboard.json").read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = dashboard["panels"]
    return found


def queries() -> list[str]:
    asked = [target["expr"] for panel in panels() for target in panel["targets"]]
    return [*asked, *(rule["expr"] for rule in rules())]


def selectors(query: str) -> Iterator[tuple[str, str]]:
    """Names of metrics, each with what stands in its braces."""
    bare = re.sub(r"\bby \([^)]*\)|\[[^]]*\]|offset \w+", "", query)
    for name, _, within in re.findall(r"\b([a-z_]+)\b(\{([^}]*)\})?", bare):
        if name not in FUNCTIONS and not name.isdigit():
            yield name, within


def matchers(within: str) -> list[tuple[str, str, str]]:
    return re.findall(r'(\w+)\s*(=~|!=|!~|=)\s*"([^"]*)"', within)


async def exposed(home: Path, write_book: WriteBook, llm: LlmServer) -> Labels:
    """What a service tells after an answer, a refusal, a mistake and an ingest: for each name its
    labels, for each label its values."""
    book = write_book(CANARIES)
    llm.always(searches_then(lambda found: f"{found[0]['chunk_text'].splitlines()[-1]} [1]"))
    async with running(home, **with_model(llm), books_folder=book.parent) as up:
        job = await up.http.post("/ingestion/trigger", json={"book_id": "guide", "path": "book"})

        async def done() -> bool:
            status = await up.http.get(f"/ingestion/status/{job.json()['job_id']}")
            return bool(status.json()["status"] == "completed")

        await until(done)
        assert not (await up.ask("What is a canary?")).json()["refused"]
        assert (await up.ask("How do I bake sourdough bread?")).json()["refused"]
        await up.ask("")
        page = (await up.http.get("/metrics")).text
    found: Labels = {}
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            labels = found.setdefault(sample.name, {})
            for label, value in sample.labels.items():
                labels.setdefault(label, set()).add(value)
    return found


async def test_every_metric_and_label_is_there(
    home: Path, write_book: WriteBook, llm: LlmServer
) -> None:
    there = await exposed(home, write_book, llm)
    asked = 0
    for query in queries():
        named = list(selectors(query))
        assert named, query
        for name, within in named:
            asked += 1
            if name in OF_PROMETHEUS:
                continue
            assert name in there, f"{name} in {query}"
            for label, sign, value in matchers(within):
                if label in PROMETHEUS_LABELS:
                    continue
                assert label in there[name], f"{label} of {name} in {query}"
                if sign == "=" and label != "status":
                    assert value in there[name][label], f"{label}={value} of {name} in {query}"
        labels = {label for name, _ in named for label in there.get(name, {})}
        for group in re.findall(r"\bby \(([^)]*)\)", query):
            assert {each.strip() for each in group.split(",")} <= labels | PROMETHEUS_LABELS, query
    assert asked > 30
    # The readers of a query, too, must see all that Prometheus would see.
    assert list(
        selectors('sum by (a) (rate(x_total{b="c d", e!="f"}[5m] offset 1h)) / y_sum > 2')
    ) == [
        ("x_total", 'b="c d", e!="f"'),
        ("y_sum", ""),
    ]
    for dependency in ("database", "index", "embedder", "language_model", "rate_limits", "worker"):
        assert dependency in there["bythebook_dependency_up"]["dependency"]


def test_rules_have_the_shape_that_prometheus_reads() -> None:
    names = [rule["alert"] for rule in rules()]
    assert len(names) == len(set(names)) >= 8
    for rule in rules():
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        assert re.fullmatch(r"[A-Z]\w+", rule["alert"])
        assert re.fullmatch(r"\d+[smhd]", rule.get("for", "0s"))
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert rule["annotations"]["summary"] and rule["annotations"]["action"]
        assert balanced(rule["expr"]) and re.search(r"[<>=]=? ?[\d.]+", rule["expr"])


def test_panels_do_not_overlap_and_ask_one_source() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in panels():
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken and at["x"] + at["w"] <= 24
        taken |= cells
        assert panel["datasource"]["uid"] == "${datasource}"
        assert all(balanced(target["expr"]) for target in panel["targets"])
    assert len({panel["id"] for panel in panels()}) == len(panels())


def balanced(query: str) -> bool:
    return all(query.count(a) == query.count(b) for a, b in ("()", "[]", "{}")) and (
        query.count('"') % 2 == 0
    )
