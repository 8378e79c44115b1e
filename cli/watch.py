"""--watch: reads the files of the start anew when they change.

With another seed, profile or state all worlds begin anew; other tokens leave them as they are.
"""

import threading
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


class Watch:
    """The app of the files as they were read last; with an invalid one everything stays as it was.

    `given` are the settings without the tokens of the file.
    """

    def __init__(self, app: Flask, start: Start, given: Settings, log: Log) -> None:
        self.app = app
        self._start = start
        self._given = given
        self._log = log
        self._paths = files_to_watch(given)
        if given.token_file:
            self._paths.append(given.token_file)
        self._read = self._stamps()
        self._has_ended = threading.Event()

    def wsgi_app(self, environ: dict[str, Any], start_response: Any) -> Any:
        return self.app(environ, start_response)

    def start(self) -> None:
        threading.Thread(target=self._run, daemon=True).start()

    def end(self) -> None:
        self._has_ended.set()

    def _stamps(self) -> dict[Path, Stamp | None]:
        return {path: stamp_of(path) for path in self._paths}

    def _run(self) -> None:
        """Read what has changed once it stays as it is: before, it may not be written whole."""
        previous = self._read
        while not self._has_ended.wait(PAUSE):
            current = self._stamps()
            if current == previous != self._read:
                changed = [path for path in self._paths if current[path] != self._read[path]]
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
            say_error(error.format_message())
            say("the previous files stay in use\n")
        else:
            say(f"read {', '.join(map(str, changed))}: {result}\n")

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


def stamp_of(path: Path) -> Stamp | None:
    """What changes with the content of a file, None if there is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
