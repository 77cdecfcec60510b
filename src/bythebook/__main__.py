"""`python -m bythebook` is the same as `bythebook`."""

from bythebook.cli.app import main

main()
