"""``python -m herbrand``: the program of the same name."""

from herbrand.cli.app import main

if __name__ == "__main__":
    main()
