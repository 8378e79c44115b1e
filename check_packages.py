"""Says how to install the packages that the program needs, where one is missing."""

import sys
from importlib.util import find_spec
from pathlib import Path


def require_packages() -> None:
    """End with status 2 if a package is missing."""
    for name in ("flask", "waitress"):
        if find_spec(name) is None:
            file = Path(__file__).with_name("requirements.txt")
            command = f"{sys.executable} -m pip install -r {file}"
            print(f"error: {name} is not installed: run `{command}`", file=sys.stderr)
            sys.exit(2)
