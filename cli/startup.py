"""What comes before the program imports its packages."""

import os
import signal
import sys


def end_quietly() -> None:
    """Until the program has handlers of its own, Ctrl-C and SIGTERM end it without a traceback."""
    sys.excepthook = lambda kind, *rest: (
        None if kind is KeyboardInterrupt else sys.__excepthook__(kind, *rest)
    )
    if os.getpid() == 1:  # of a container: until it has a handler, Linux ignores `docker stop`
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
