"""`deployment-stub`, and `python -m deployment_stub`: what app.py is in a clone."""

import os
import sys


def main() -> int:
    # The modules find each other here; an environment may have others with their names.
    sys.path.insert(0, os.path.dirname(__file__))  # noqa: PTH120
    from cli.main import main
    from stub import create_stub

    return main(create_stub, sys.argv[1:], os.environ, sys.stdout, sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
