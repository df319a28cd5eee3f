"""``python -m herbrand``, and the program of that name: Ctrl-C ends it plainly from its imports on."""

import sys

from herbrand.extras import member


def run() -> None:
    """Run :func:`herbrand.cli.run`; an interrupt during its import ends without a message."""
    try:
        program = member("herbrand.cli:run")
    except KeyboardInterrupt:
        sys.exit(130)
    program()


if __name__ == "__main__":
    run()
