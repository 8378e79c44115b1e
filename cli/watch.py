"""--watch: reads the files of the start anew when they change.

With another seed, profile or state all worlds begin anew; other tokens leave them as they are.
"""

import threading
from collections.abc import Callable
from pathlib import Path

import click

from stub.redaction import Redactor

from .apps import NewApp, Served
from .files import warnings_of_mode, watched, with_files, with_tokens
from .options import Settings
from .stderr import say, say_error

PAUSE = 0.2  # seconds between two looks at the files

Stamp = tuple[int, int, int]  # the time of a change, the size, and the number of the file
Stamps = dict[Path, Stamp | None]


class Watch:
    """Replaces the app that is served; with an invalid file everything stays as it was.

    `given` are the settings without what is in the files, and `stamps` those of the files before
    they were read for the app. `new_app` makes an app of settings. `failure` is what has ended the
    watch, and the server with it.
    """

    def __init__(
        self,
        served: Served,
        given: Settings,
        stamps: Stamps,
        new_app: NewApp,
        redactor: Redactor,
    ) -> None:
        self.failure: Exception | None = None
        self._served = served
        self._given = given
        self._read = stamps
        self._previous = stamps
        self._new_app = new_app
        self._redactor = redactor
        self._has_ended = threading.Event()

    def start(self, stop: Callable[[], None]) -> None:
        """Look at the files in a thread; call `stop` if that fails."""

        def run() -> None:
            try:
                while not self._has_ended.wait(PAUSE):
                    self.look()
            except Exception as error:  # which the main thread raises
                self.failure = error
                stop()

        threading.Thread(target=run, daemon=True).start()

    def end(self) -> None:
        self._has_ended.set()

    def look(self) -> None:
        """Read what has changed, if it is as it was at the previous look.

        Before, it may not be written whole.
        """
        current = stamps_of(self._given)
        previous = self._previous
        self._previous = current
        if current == previous != self._read:
            changed = [path for path in current if current[path] != self._read[path]]
            self._read = current
            self._read_changed(changed)

    def _read_changed(self, changed: list[Path]) -> None:
        try:
            if changed == [self._given.token_file]:
                result = self._take_tokens(with_tokens(self._given))
            else:
                self._served.app = self._new_app(with_files(self._given))
                result = "all worlds begin anew"
        except click.UsageError as error:
            reason = error.format_message()
        except OSError as error:
            reason = str(error)
        else:
            say(f"read {', '.join(map(str, changed))}: {result}\n")
            return
        say_error(reason)
        say("the previous files stay in use\n")

    def _take_tokens(self, settings: Settings) -> str:
        """Give the app other tokens, and say how many. The previous tokens stay masked as long as a
        journal has a request of their time.
        """
        secrets = settings.secrets
        self._redactor.replace(secrets)
        assert self._served.worlds
        self._served.worlds.tokens.replace(settings.options.tokens)
        for line in warnings_of_mode(settings.token_file):
            say(f"{line}\n")
        count = len(set(secrets))
        return f"{count} tokens from now on" if count > 1 else "1 token from now on"


def stamps_of(given: Settings) -> Stamps:
    """The stamps of the files that these settings watch, taken before the files are read."""
    paths = watched(given)
    if given.token_file:
        paths.append(given.token_file)
    return {path: stamp_of(path) for path in paths}


def stamp_of(path: Path) -> Stamp | None:
    """What changes with the content of a file, None if there is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
