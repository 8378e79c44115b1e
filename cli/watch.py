"""--watch: reads the files of the start anew when they change, and begins all worlds anew."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from flask import Flask

from .log import say

PAUSE = 0.2  # seconds between two looks at the files

Stamp = tuple[int, int, int]  # the time of a change, the size, and the number of the file


class Watch:
    """The app of the files as they were read last.

    `make_app` reads the files and makes an app of them; it raises `click.UsageError` with their
    errors. Then the previous app stays.
    """

    def __init__(self, app: Flask, make_app: Callable[[], Flask], paths: Sequence[Path]) -> None:
        self.app = app
        self._make_app = make_app
        self._paths = paths
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
                self._read_changed(current)
            previous = current

    def _read_changed(self, current: dict[Path, Stamp | None]) -> None:
        names = [str(path) for path in self._paths if current[path] != self._read[path]]
        self._read = current
        try:
            self.app = self._make_app()
        except click.UsageError as error:
            lines = error.format_message().split("\n")
            say("".join(f"error: {line}\n" for line in lines))
            say("the previous files stay in use\n")
            return
        say(f"read {', '.join(names)}: all worlds begin anew\n")


def stamp_of(path: Path) -> Stamp | None:
    """What changes with the content of a file, None if there is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
