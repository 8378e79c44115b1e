"""--watch: reads the files of the start anew when they change.

With another seed, profile or state all worlds begin anew; other tokens leave them as they are.
"""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from flask import Flask

import stub

from .apps import files_to_watch, make_app, options_of
from .log import Log
from .options import Settings, Start
from .stderr import say, say_error
from .tokens import warnings_of_mode, with_token_file

PAUSE = 0.2  # seconds between two looks at the files

Stamp = tuple[int, int, int]  # the time of a change, the size, and the number of the file
Stamps = dict[Path, Stamp | None]


class Watch:
    """The app of the files as they were read last; with an invalid one everything stays as it was.

    `given` are the settings without the tokens of the file, and `stamps` those of the files before
    they were read for `app`. `failure` is what has ended the watch, and the server with it.
    """

    def __init__(self, app: Flask, start: Start, given: Settings, log: Log, stamps: Stamps) -> None:
        self.app = app
        self.failure: Exception | None = None
        self._start = start
        self._given = given
        self._log = log
        self._read = stamps
        self._has_ended = threading.Event()

    def wsgi_app(self, environ: dict[str, Any], start_response: Any) -> Any:
        return self.app(environ, start_response)

    def start(self, stop: Callable[[], None]) -> None:
        """Look at the files in a thread; call `stop` if that fails."""

        def run() -> None:
            try:
                self._run()
            except Exception as error:  # which the main thread raises
                self.failure = error
                stop()

        threading.Thread(target=run, daemon=True).start()

    def end(self) -> None:
        self._has_ended.set()

    def _run(self) -> None:
        """Read what has changed once it stays as it is: before, it may not be written whole."""
        previous = self._read
        while not self._has_ended.wait(PAUSE):
            current = stamps_of(self._given)
            if current == previous != self._read:
                changed = [path for path in current if current[path] != self._read[path]]
                self._read = current
                self._read_changed(changed)
            previous = current

    def _read_changed(self, changed: list[Path]) -> None:
        try:
            settings = with_token_file(self._given)
            if changed == [settings.token_file]:
                result = self._take_tokens(settings)
            else:
                self.app = make_app(self._start, options_of(settings), self._log)
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
        self._log.redactor.replace(secrets)
        worlds: stub.Worlds = self.app.extensions["worlds"]
        worlds.tokens.replace(settings.token)
        for line in warnings_of_mode(settings.token_file):
            say(f"{line}\n")
        count = len(set(secrets))
        return f"{count} tokens from now on" if count > 1 else "1 token from now on"


def stamps_of(given: Settings) -> Stamps:
    """The stamps of the files that these settings watch, taken before the files are read."""
    paths = files_to_watch(given)
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
