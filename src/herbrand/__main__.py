"""``python -m herbrand``: the program of the same name."""

from herbrand.cli.app import run

if __name__ == "__main__":
    run()
