"""The command line: one file a command. ``herbrand --help`` lists them all.

Results go to standard output, notes and progress to standard error. Exit status 0: done; 1: the input is
wrong; 2: usage; 3: done but not converged.
"""

from herbrand.cli.app import main, run

__all__ = ["main", "run"]
