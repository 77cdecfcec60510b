"""A served book for programs that read: `llms.txt`, and each page as Markdown."""

from __future__ import annotations

import re

from booktext import WriteBook
from server.running import Running

BOOK = "physical-ai-robotics"
LINK = re.compile(r"^- \[(.+)\]\((\S+)\)(?:: (\S+))?$", re.MULTILINE)


async def test_every_page_can_be_read(up: Running) -> None:
    listed = await up.http.get("/llms.txt")
    assert listed.headers["content-type"] == "text/plain; charset=utf-8"
    assert listed.text.startswith("# Physical AI and Robotics\n\n> ")
    links = LINK.findall(listed.text)
    (book,) = (await up.http.get("/books")).json()
    assert len(links) == book["files"]
    for title, path, url in links[:5]:
        page = await up.http.get(f"/{path}")
        assert page.headers["content-type"] == "text/markdown; charset=utf-8"
        assert page.text.startswith(f"# {title}\n\n{url}\n\n")
    # The book's own list leads to the same pages from where it stands.
    own = await up.http.get(f"/books/{BOOK}/llms.txt")
    assert [f"books/{BOOK}/{path}" for _, path, _ in LINK.findall(own.text)] == [
        path for _, path, _ in links
    ]
    titles = {title: path for title, path, _ in links}
    qos = (await up.http.get(f"/{titles['Quality of Service']}")).text
    assert "**Durability** decides what late joiners get." in qos
    assert "| Default | Reliable | Volatile | Keep last, 10 |" in qos
    assert "reliability=ReliabilityPolicy.RELIABLE," in qos


async def test_only_with_a_key_for_the_book(up: Running, write_book: WriteBook) -> None:
    path = LINK.findall((await up.http.get("/llms.txt")).text)[0][1]
    await up.service.library.ingest(
        write_book(
            {"bythebook.toml": '[book]\ntitle = "Tides [1]"\n', "a.md": "# Sea\n\nIt is wet.\n"}
        ),
        book_id="tides",
    )
    both = (await up.http.get("/llms.txt")).text
    assert {link for _, link, _ in LINK.findall(both)} == {
        f"books/{BOOK}/llms.txt",
        "books/tides/llms.txt",
    }
    _, key = await up.service.keys.create("tides", ["read"], ["tides"])
    headers = {"Authorization": f"Bearer {key}"}
    for route in ("/llms.txt", "/books/tides/llms.txt", f"/{path}"):
        assert (await up.http.get(route)).status_code == 401
    own = await up.http.get("/llms.txt", headers=headers)
    assert own.status_code == 200 and BOOK not in own.text and "Tides \\[1\\]" in own.text
    (sea,) = LINK.findall(own.text)
    assert "It is wet." in (await up.http.get(f"/{sea[1]}", headers=headers)).text
    for route in (f"/books/{BOOK}/llms.txt", f"/{path}"):
        assert (await up.http.get(route, headers=headers)).status_code == 404
