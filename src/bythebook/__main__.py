"""`python -m bythebook` is the same as `bythebook`."""

from bythebook.cli.app import main

if __name__ == "__main__":
    main()
