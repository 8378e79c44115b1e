"""Says how to install the packages that the program needs, where one is missing."""

import sys
from importlib.util import find_spec

for name in ("flask", "waitress"):
    if find_spec(name) is None:
        print(
            f"error: {name} is not installed: run `pip install -r requirements.txt`",
            file=sys.stderr,
        )
        sys.exit(2)
