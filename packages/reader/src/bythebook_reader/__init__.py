"""Where the weights of bythebook's reading model are."""

from pathlib import Path

WEIGHTS = Path(__file__).parent / "weights"
