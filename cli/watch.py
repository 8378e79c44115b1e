"""--watch: reads the files of the start anew when they change.

With another seed, profile or state all worlds begin anew; other tokens leave them as they are.
"""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from flask import Flask

from .stderr import say

PAUSE = 0.2  # seconds between two looks at the files

Stamp = tuple[int, int, int]  # the time of a change, the size, and the number of the file


class Watch:
    """The app of the files as they were read last.

    `make_app` reads the files at `paths` and makes an app of them; `take_tokens` reads the file at
    `token_file`, gives an app its tokens, and returns how many there are. Both raise
    `click.UsageError` with the errors of the files. Then everything stays as it was.
    """

    def __init__(
        self,
        app: Flask,
        make_app: Callable[[], Flask],
        paths: Sequence[Path],
        take_tokens: Callable[[Flask], int],
        token_file: Path | None,
    ) -> None:
        self.app = app
        self._make_app = make_app
        self._take_tokens = take_tokens
        self._token_file = token_file
        self._paths = [*paths, *([token_file] if token_file else [])]
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
        changed = [path for path in self._paths if current[path] != self._read[path]]
        self._read = current
        try:
            if changed == [self._token_file]:
                count = self._take_tokens(self.app)
                result = f"{count} token{'s' if count > 1 else ''} from now on"
            else:
                self.app = self._make_app()
                result = "all worlds begin anew"
        except click.UsageError as error:
            lines = error.format_message().split("\n")
            say("".join(f"error: {line}\n" for line in lines))
            say("the previous files stay in use\n")
            return
        say(f"read {', '.join(map(str, changed))}: {result}\n")


def stamp_of(path: Path) -> Stamp | None:
    """What changes with the content of a file, None if there is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
