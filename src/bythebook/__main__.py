"""`python -m bythebook` is the same as `bythebook`."""

from __future__ import annotations

from bythebook.cli.commands import main

if __name__ == "__main__":
    main()
