"""The files of the program, and those that its options name."""

import errno
import os
import re
from codecs import BOM_UTF8
from pathlib import Path
from stat import S_ISFIFO, S_ISREG

ROOT = Path(__file__).parent.parent
MAX_BYTES = 64 * 1024 * 1024  # of a file that an option names
# A shell has opened what is there: `<(…)`, `>(…)`, or what it redirects.
OPENED = re.compile("/dev/(?:fd/[0-9]+|stdin)|/proc/self/fd/[0-9]+")


def read_file(path: str) -> bytes:
    """Read a file of the program, such as `openapi.json`."""
    return (ROOT / path).read_bytes()


def content_of(path: Path) -> bytes:
    """The bytes of a file of a user, without the byte order mark that some editors write.

    Raises `OSError`, also for a file that is too large, and for what may have no end or no writer:
    a device, and a pipe that no shell has opened.
    """
    with open(path, "rb", opener=open_at_once) as file:
        mode = os.fstat(file.fileno()).st_mode
        if S_ISFIFO(mode) and OPENED.fullmatch(str(path)):
            os.set_blocking(file.fileno(), True)
        elif not S_ISREG(mode):
            raise no_file(path)
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise OSError(errno.EFBIG, f"over {MAX_BYTES // 1024**2} MiB", str(path))
    return data.removeprefix(BOM_UTF8)


def open_at_once(path: str, flags: int) -> int:
    """An opener for `open()` that waits for no writer of a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # Windows has none


def is_named_pipe(path: Path) -> bool:
    """Whether a file is a pipe that no shell has opened."""
    return path.is_fifo() and not OPENED.fullmatch(str(path))


def no_file(path: Path) -> OSError:
    return OSError(errno.EINVAL, "neither a regular file nor a pipe of a shell", str(path))
