"""`deployment-stub`, and `python -m deployment_stub`: what app.py is in a clone."""

import os
import sys


def main() -> int:
    # The modules find each other here; an environment may have others with their names.
    sys.path.insert(0, os.path.dirname(__file__))  # noqa: PTH120  # which may be in a zip file
    try:
        from cli.startup import prepare
    except KeyboardInterrupt:
        return 130
    prepare()
    from app import create_app
    from cli.main import main

    return main(create_app, sys.argv[1:], os.environ, sys.stdout, sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
