"""A small MkDocs site, built by MkDocs itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PAGES = {
    "index.md": "# Begin\n\nText, and `</body>` in code.\n",
    "next.md": "# Next\n\nMore text.\n",
}


def build(folder: Path, settings: str, files: dict[str, str] | None = None) -> tuple[int, str]:
    """Exit status and all that was said; the site is in `folder/site`."""
    written = {f"docs/{name}": text for name, text in PAGES.items()}
    for name, text in {"mkdocs.yml": settings, **written, **(files or {})}.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr
