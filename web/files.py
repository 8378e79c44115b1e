"""Reads the files of the program, and files of the user."""

from codecs import BOM_UTF8
from pathlib import Path

ROOT = Path(__file__).parent.parent


def read_file(path: str) -> bytes:
    """Read a file of the program, such as `openapi.json`."""
    return (ROOT / path).read_bytes()


def read_user_file(path: Path) -> bytes:
    """Read a file of the user without the byte order mark that some editors write.

    Raises `OSError`.
    """
    return path.read_bytes().removeprefix(BOM_UTF8)
