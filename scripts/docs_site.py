"""Hook of MkDocs: what docs/ links to outside of itself, such as examples, has no page on the site.

With `repo_url` in mkdocs.yml such a link leads to the repository; without it, it is plain text.
"""

from __future__ import annotations

import posixpath
import re
from typing import Any

LINK = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+[^)#\s]+)(#[^)\s]*)?\)")


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    folder = posixpath.dirname(page.file.src_uri)

    def replaced(link: re.Match[str]) -> str:
        text, target, anchor = link[1], link[2], link[3] or ""
        path = posixpath.normpath(posixpath.join("docs", folder, target))
        if path.startswith("docs/"):
            return link[0]
        if config.repo_url:
            return f"[{text}]({config.repo_url.rstrip('/')}/blob/main/{path}{anchor})"
        return f"{text} (`{path}` in the repository)"

    return LINK.sub(replaced, markdown)
