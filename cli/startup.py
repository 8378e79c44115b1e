"""What comes before the program imports its packages."""

import os
import signal


def end_at_signals() -> None:
    """Until the server handles them, Ctrl-C and `docker stop` end the program without a word."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not as in `nohup`
        signal.signal(signal.SIGINT, end)
    if os.getpid() == 1:  # of a container: until it has a handler, Linux ignores `docker stop`
        signal.signal(signal.SIGTERM, end)


def end(number: int, frame: object) -> None:
    os._exit(128 + number)  # an exception in a callback of an import is printed and ignored


def restore_interrupt() -> None:
    """From now on Ctrl-C raises `KeyboardInterrupt` again, where it is not ignored."""
    if signal.getsignal(signal.SIGINT) is end:
        signal.signal(signal.SIGINT, signal.default_int_handler)
