"""Writes files: readable only by the owner, and never half written."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path

from .stderr import say_error


def open_private(path: str, flags: int) -> int:
    """Open a file for `open()`. Only the owner may read a new file, since it may have a token."""
    return os.open(path, flags, 0o600)


@contextmanager
def name_errors(path: Path) -> Iterator[None]:
    """Add the name of a file to an `OSError`, since the error of a full disk lacks it."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def try_to_write(write: Callable[[], None]) -> bool:
    """Write a file by calling `write`; return whether it succeeded, and print the error."""
    try:
        write()
    except OSError as error:
        say_error(f"{error.filename}: {error.strerror}.")
        return False
    return True


def write_file(path: Path, text: str) -> None:
    """Write a file. Raises `OSError`."""
    with name_errors(path), open(path, "w", encoding="utf-8", opener=open_private) as file:
        file.write(text)


def check_writable(path: Path) -> None:
    """Raise `OSError` if a file cannot be written. Do not change it."""
    is_new = not path.exists()
    with name_errors(path), open(path, "ab", opener=open_private):
        pass
    if is_new:
        Path(os.path.realpath(path)).unlink()


def replace_file(path: Path, text: str) -> None:
    """Replace a file so that it is never half written. Raises `OSError`.

    If renaming is impossible, the file is written in place: it may be a mount, or its folder may
    allow no new file.
    """
    no_rename = (errno.EBUSY, errno.EACCES, errno.EPERM, errno.EROFS, errno.EXDEV)
    target = Path(os.path.realpath(path))
    with name_errors(path):
        if target.exists() and not target.is_file():  # It may be /dev/null.
            write_file(target, text)
            return
        try:
            replace_by_rename(target, text)
        except OSError as error:
            if error.errno not in no_rename or not target.exists():
                raise
            write_in_place(target, text.encode())


def write_in_place(target: Path, data: bytes) -> None:
    """Overwrite the content of a file; restore the previous content if the disk is full.

    The file is not truncated before, since another program could take its blocks.
    """
    with target.open("r+b", buffering=0) as file:
        previous = file.read()
        try:
            write_over(file, data)
        except OSError:
            write_over(file, previous)
            raise


def write_over(file: FileIO, data: bytes) -> None:
    file.seek(0)
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]
    file.truncate()


def replace_by_rename(target: Path, text: str) -> None:
    from shutil import copymode  # Most starts do not need these.
    from tempfile import mkstemp

    descriptor, beside = mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        with suppress(FileNotFoundError):
            copymode(target, beside)
        Path(beside).replace(target)
    except OSError:
        Path(beside).unlink()
        raise


def has_text(path: Path) -> bool:
    """Return whether a file exists and is not empty. Docker users mount an empty file at first."""
    return path.exists() and path.stat().st_size > 0
