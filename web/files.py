"""The files of the program, and those that its options name."""

from codecs import BOM_UTF8
from pathlib import Path

ROOT = Path(__file__).parent.parent


def read_file(path: str) -> bytes:
    """Read a file of the program, such as `openapi.json`."""
    return (ROOT / path).read_bytes()


def content_of(path: Path) -> bytes:
    """The bytes of a file of a user, without the byte order mark that some editors write.

    Raises `OSError`.
    """
    return path.read_bytes().removeprefix(BOM_UTF8)
