"""Whether a path leads to a file that can be read to its end: a pipe, a device or a socket may wait for ever.

>>> import tempfile
>>> irregular(tempfile.gettempdir()), irregular("/dev/null"), irregular("no such file")
('a folder', 'a device', None)
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

PIPE = "a named pipe"
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: PIPE,
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}
_OPEN_ALREADY = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")


def irregular(path: str | Path) -> str | None:
    """What a path leads to if it is no regular file; None for one, and where nothing can be found."""
    try:
        return _KINDS.get(stat.S_IFMT(os.stat(path).st_mode))
    except OSError as error:
        return "a circle of links" if error.errno == errno.ELOOP else None
    except ValueError:
        return None


def is_open_pipe(path: str | Path) -> bool:
    """Whether it is a pipe that this process was started with: standard input, or the shell's <(...)."""
    return irregular(path) == PIPE and os.path.abspath(path).startswith(_OPEN_ALREADY)
