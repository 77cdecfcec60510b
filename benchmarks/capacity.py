"""What a machine or a cluster holds and costs: arithmetic over benchmarks/data/capacity.json.

    python benchmarks/capacity.py                         # tables of docs/engineering/capacity.md
    python benchmarks/capacity.py --chunks 3000000 --replicas 3 --price-vcpu-hour 0.05 …
    python benchmarks/capacity.py --write                      # into docs/engineering/capacity.md

Nothing is measured here (benchmarks/capacity_figures.py does that), and prices are inputs: the ones
in the page are examples, nobody's offer.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
FIGURES = ROOT / "benchmarks" / "data" / "capacity.json"
PAGE = ROOT / "docs" / "engineering" / "capacity.md"

ONE_MACHINE = (10_000, 50_000, 100_000, 500_000, 1_000_000)
CLUSTERS = (1_000_000, 10_000_000, 100_000_000, 1_000_000_000)
# The vectors that the figures were measured with.
MEASURED_DIMENSION = 384
HOURS_A_MONTH = 730
# Of a server's row: its own memory, that of its files, and its disk.
PARTS = (("server", "own_mb"), ("server", "files_mb"), ("disk_mb",))
Figures = dict[str, Any]
Row = Sequence[str]


@dataclass(frozen=True)
class Layout:
    """Bytes a chunk takes on a Qdrant server that keeps it in one way."""

    name: str
    own: float
    files: float
    disk: float
    cpu_ms: float
    # Of a vector's numbers, in memory; and whether all that is searched lies there.
    bytes_a_number: float
    is_in_memory: bool


@dataclass(frozen=True)
class Cluster:
    """What so many chunks need, all copies together."""

    memory_gb: float
    disk_gb: float
    nodes: int
    chunks_a_shard: float
    vcpus: float
    month: float


def line(rows: list[Figures], *names: str) -> tuple[float, float]:
    """Bytes that are there once, and bytes a chunk, from the two largest sizes."""
    small, large = sorted(rows, key=lambda row: int(row["chunks"]))[-2:]
    slope = (value(large, names) - value(small, names)) / (large["chunks"] - small["chunks"])
    return max(0.0, value(large, names) - slope * large["chunks"]), slope


def value(row: Figures, names: Sequence[str]) -> float:
    """A figure of so many MB, as bytes."""
    found: Any = row
    for name in names:
        found = found[name]
    return float(found) * 2**20


def grown(rows: list[Figures], name: str, chunks: int) -> float:
    """By the line through the two largest sizes, above them; between sizes the next larger's."""
    known = sorted(rows, key=lambda row: int(row["chunks"]))
    for row in known:
        if chunks <= row["chunks"]:
            return float(row[name])
    small, large = known[-2:]
    slope = max(0.0, (large[name] - small[name]) / (large["chunks"] - small["chunks"]))
    return float(large[name] + slope * (chunks - large["chunks"]))


def layouts(figures: Figures) -> list[Layout]:
    """What is there once is the same in each, and known from the one that was measured twice."""
    rows = figures["server"]
    largest = max(row["chunks"] for row in rows)
    plain = [row for row in rows if row["layout"] == "as made"]
    once = [line(plain, *names)[0] for names in PARTS]
    found = []
    for row in (each for each in rows if each["chunks"] == largest):
        own, files, disk = (
            max(0.0, value(row, names) - fixed) / largest
            for names, fixed in zip(PARTS, once, strict=True)
        )
        found.append(
            Layout(
                name=row["layout"],
                own=own,
                files=files,
                disk=disk,
                cpu_ms=row["server_cpu_ms_a_search"],
                bytes_a_number=4 if row in plain else 1 if "int8" in row["layout"] else 1 / 8,
                is_in_memory=row in plain,
            )
        )
    return found


def cluster(layout: Layout, chunks: int, given: argparse.Namespace) -> Cluster:
    """Memory is what the server has as its own, and of its files what it touched or what is hot."""
    more = given.dimension - MEASURED_DIMENSION
    disk = layout.disk + more * (4 + (0 if layout.is_in_memory else layout.bytes_a_number))
    files = layout.files if layout.is_in_memory else given.hot_share * disk
    memory = (layout.own + more * layout.bytes_a_number + files) * given.memory_room
    memory_gb = memory * chunks * given.replicas / 2**30
    disk_gb = disk * given.disk_room * chunks * given.replicas / 2**30
    nodes = max(given.replicas, math.ceil(memory_gb / given.node_memory_gb))
    # Each search asks one copy of every shard.
    shards = math.ceil(nodes / given.replicas)
    seconds = given.searches / 1000 / given.busy
    beside_memory = memory_gb * given.node_vcpus / given.node_memory_gb
    stores = max(2 * nodes, beside_memory, seconds * layout.cpu_ms * shards)
    vcpus = stores + math.ceil(seconds * given.service_ms)
    month = (
        vcpus * given.price_vcpu_hour * HOURS_A_MONTH
        + memory_gb * given.price_memory_gb_month
        + disk_gb * given.price_disk_gb_month
    )
    return Cluster(memory_gb, disk_gb, nodes, chunks / shards, math.ceil(vcpus), month)


def number(value: float) -> str:
    if value >= 1000:
        return f"{round(value, 1 - len(str(int(value))) + 1):,.0f}"
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}"


def size(gb: float) -> str:
    if gb < 1:
        return f"{number(gb * 1024)} MB"
    return f"{number(gb)} GB" if gb < 1024 else f"{number(gb / 1024)} TB"


def span(hours: float) -> str:
    if hours < 1 / 60:
        return "under a minute"
    if hours < 1:
        return f"{number(hours * 60)} min"
    return f"{number(hours)} h" if hours < 72 else f"{number(hours / 24)} days"


def table(head: Row, rows: Iterable[Row]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def measured_tables(figures: Figures) -> Iterable[tuple[str, str]]:
    embedded = [
        (
            f"{row['chunks']:,}",
            f"{row['disk_mb']:.0f}",
            f"{row['service']['own_mb']:.0f} + {row['service']['files_mb']:.0f}",
            f"{row['opening_s']:.1f}",
            f"{row['service_cpu_ms_a_search']:.0f}",
        )
        for row in figures["embedded"]
    ]
    without = figures["embedded"][0]["service_without_index"]
    memory = f"{without['own_mb']:.0f} + {without['files_mb']:.0f}"
    embedded.insert(0, ("no book", "", memory, "", ""))
    yield (
        "embedded",
        table(
            ("chunks", "disk, MB", "memory: own + files, MB", "opening, s", "CPU a search, ms"),
            embedded,
        ),
    )
    served = [
        (
            f"{row['chunks']:,}",
            row["layout"],
            f"{row['disk_mb']:.0f}",
            f"{row['server']['own_mb']:.0f} + {row['server']['files_mb']:.0f}",
            f"{row['server_cpu_ms_a_search']:.0f}",
            f"{row['service_cpu_ms_a_search']:.0f}",
        )
        for row in figures["server"]
    ]
    head = ("chunks", "kept", "disk, MB", "Qdrant's memory: own + files, MB")
    cpu = ("CPU a search: Qdrant, ms", "and the service, ms")
    yield "server", table((*head, *cpu), served)


def one_machine(figures: Figures, given: argparse.Namespace) -> str:
    measured = figures["embedded"]
    rows = []
    own_once, own = line(measured, "service", "own_mb")
    files_once, files = line(measured, "service", "files_mb")
    disk_once, disk = line(measured, "disk_mb")
    rate = figures["embedding"]["chunks_per_cpu_second"]
    for chunks in ONE_MACHINE:
        cpu = grown(measured, "service_cpu_ms_a_search", chunks)
        rows.append(
            (
                f"{chunks:,}",
                size((disk_once + chunks * disk) * given.disk_room / 2**30),
                size((own_once + chunks * own) / 2**30),
                size((files_once + chunks * files) / 2**30),
                f"{grown(measured, 'opening_s', chunks):.0f} s",
                number(given.busy * 1000 / cpu),
                span(chunks / rate / given.cores / 3600),
            )
        )
    head = (
        "chunks",
        "disk",
        "memory, at least",
        "and for files",
        "opening",
        "searches/s a core",
        f"embedding, {given.cores} cores",
    )
    return table(head, rows)


def clusters(figures: Figures, sizes: Sequence[int], given: argparse.Namespace) -> str:
    rows = []
    for chunks in sizes:
        for layout in layouts(figures):
            need = cluster(layout, chunks, given)
            vendor = chunks * given.dimension * 4 * 1.5 * given.replicas / 2**30
            rows.append(
                (
                    f"{chunks:,}",
                    layout.name,
                    size(need.memory_gb),
                    size(vendor) if layout.is_in_memory else "",
                    size(need.disk_gb),
                    str(need.nodes),
                    number(need.chunks_a_shard),
                    f"{need.vcpus:,.0f}",
                    number(need.month),
                )
            )
    head = (
        "chunks",
        "kept",
        "memory",
        "vendor's formula",
        "disk",
        f"nodes, up to {given.node_memory_gb:.0f} GB",
        "chunks a shard",
        "vCPUs",
        "a month",
    )
    return table(head, rows)


def embedding(figures: Figures, sizes: Sequence[int], given: argparse.Namespace) -> str:
    cpu = figures["embedding"]["chunks_per_cpu_second"]
    pieces = figures["embedding"]["word_pieces_a_chunk"]
    gpu = figures["gpu"]["windows_of_256_per_second"] * 256 / pieces
    rows = [
        (
            f"{chunks:,}",
            span(chunks / cpu / given.cores / 3600),
            f"{number(chunks / cpu / 3600)} h",
            number(chunks / cpu / 3600 * given.price_vcpu_hour),
            span(chunks / gpu / 3600),
        )
        for chunks in sizes
    ]
    head = ("chunks", f"{given.cores} cores", "core-hours", "price of them", "one H200, at best")
    return table(head, rows)


def parts(figures: Figures, given: argparse.Namespace) -> dict[str, str]:
    sizes = [given.chunks] if given.chunks else list(CLUSTERS)
    loads = figures["load_before_and_after"].items()
    load = ", ".join(f"{name} {before} to {after}" for name, (before, after) in loads)
    machine = f"{figures['machine']}, {figures['measured']}; load average meanwhile: {load}"
    return {
        "machine": f"Measured on: {machine}.",
        **dict(measured_tables(figures)),
        "one machine": one_machine(figures, given),
        "clusters": clusters(figures, sizes, given),
        "embedding": embedding(figures, sizes, given),
    }


def written(page: str, made: dict[str, str]) -> str:
    """The page with each part between its two remarks replaced."""
    for name, text in made.items():
        before, mark, rest = page.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition("<!-- end -->")
        if not mark or not end:
            raise SystemExit(f"docs/engineering/capacity.md has no place for {name!r}.")
        page = f"{before}{mark}{text}\n{end}{after}"
    return page


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--chunks", type=int, help="only this many")
    parser.add_argument("--dimension", type=int, default=MEASURED_DIMENSION)
    parser.add_argument("--replicas", type=int, default=2, help="copies of each shard")
    parser.add_argument("--searches", type=float, default=20.0, help="a second, at the peak")
    parser.add_argument("--cores", type=int, default=8, help="for embedding")
    parser.add_argument("--busy", type=float, default=0.6, help="share of a core to plan with")
    parser.add_argument("--hot-share", type=float, default=0.2, help="of files on disk in memory")
    parser.add_argument("--memory-room", type=float, default=1.3)
    parser.add_argument("--disk-room", type=float, default=2.0, help="for building and snapshots")
    parser.add_argument("--service-ms", type=float, default=30.0, help="CPU of the service")
    parser.add_argument("--node-memory-gb", type=float, default=128.0)
    parser.add_argument("--node-vcpus", type=int, default=16)
    parser.add_argument("--price-vcpu-hour", type=float, default=0.04)
    parser.add_argument("--price-memory-gb-month", type=float, default=3.0)
    parser.add_argument("--price-disk-gb-month", type=float, default=0.1)
    parser.add_argument("--figures", type=Path, default=FIGURES)
    parser.add_argument("--write", action="store_true", help="into docs/engineering/capacity.md")
    return parser


def main() -> None:
    given = options().parse_args()
    figures = json.loads(given.figures.read_text(encoding="utf-8"))
    made = parts(figures, given)
    if given.write:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), made), encoding="utf-8")
        return
    for name, text in made.items():
        print(f"\n{name}\n\n{text}")


if __name__ == "__main__":
    main()
