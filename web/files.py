"""The files of the program."""

from pkgutil import get_data


def read_file(path: str) -> bytes:
    """A file of the program, in the folder of auth.py, which may be a zip file."""
    data = get_data("auth", path)
    assert data
    return data
