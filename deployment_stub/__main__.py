"""Starts the program: `deployment-stub`, or `python -m deployment_stub`."""

import os
import sys


def main() -> int:
    # The environment may have other modules with the names of ours.
    sys.path.insert(0, os.path.dirname(__file__))  # noqa: PTH120
    from cli.main import main
    from stub import create_stub

    return main(create_stub, sys.argv[1:], os.environ, sys.stdout, sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
