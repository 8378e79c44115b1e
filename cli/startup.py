"""What comes before the program imports its packages."""

import os
import sys


def end_at_signals() -> None:
    """Until the server handles them, Ctrl-C and `docker stop` end the program without a word."""
    sys.excepthook = say_no_interrupt
    import signal  # which takes long enough for a Ctrl-C

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not as in `nohup`
        signal.signal(signal.SIGINT, end)
    if os.getpid() == 1:  # of a container: until it has a handler, Linux ignores `docker stop`
        signal.signal(signal.SIGTERM, end)


def say_no_interrupt(kind: type[BaseException], error: BaseException, trace: object) -> None:
    if kind is not KeyboardInterrupt:
        sys.__excepthook__(kind, error, trace)  # type: ignore[arg-type]


def end(number: int, frame: object) -> None:
    os._exit(128 + number)  # an exception in a callback of an import is printed and ignored


def restore_interrupt() -> None:
    """From now on Ctrl-C raises `KeyboardInterrupt` again, where it is not ignored."""
    import signal

    if signal.getsignal(signal.SIGINT) is end:
        signal.signal(signal.SIGINT, signal.default_int_handler)
