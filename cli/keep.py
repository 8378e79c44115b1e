"""--keep: the records of the main world in a file, from which the next run starts."""

import threading
import time
from pathlib import Path
from typing import Any

import stub
from stub import MAIN, write_seed

from .reports import replace_file
from .stderr import say

PAUSE = 1.0  # seconds between two looks at the records


class Keeper:
    """Writes the records of the main world at the start, a second after a change, and at the end.

    A write that fails meanwhile is repeated a second later. A context manager, which raises
    `OSError` at its start if the file cannot be written.
    """

    def __init__(self, path: Path, worlds: stub.Worlds) -> None:
        self._path = path
        self._worlds = worlds
        self._text = ""  # of the file
        self._at_rest: Any = None  # a world, its list and its clock, of which no text will change
        self._has_ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> None:
        is_continued = has_records(self._path)
        self.save()
        if is_continued:
            say(f"the records are those of {self._path}\n")
        self._thread.start()

    def __exit__(self, *error: object) -> None:
        self._has_ended.set()
        self._thread.join()
        self._at_rest = None  # the last save writes the file in any case
        self._text = ""

    def save(self) -> None:
        """Write the file if the text of the records is another one. Raises `OSError`.

        The text changes as long as a deployment runs: it has the rest of its timeline.
        """
        world = self._worlds.open(MAIN)
        seen = world, world.store.list_projects(), world.clock.setting  # each change makes a list
        if seen == self._at_rest:
            return
        text = write_seed(world.store.records(), world.store.now())
        if text == self._text:
            self._at_rest = seen
            return
        replace_file(self._path, text)
        self._text = text

    def _run(self) -> None:
        has_failed = False
        pause = PAUSE
        while not self._has_ended.wait(pause):
            started = time.monotonic()
            try:
                self.save()
            except OSError as error:
                if not has_failed:
                    say(f"warning: {error.filename}: {error.strerror}: it is tried again\n")
                has_failed = True
            else:
                has_failed = False
            took = time.monotonic() - started
            pause = max(PAUSE, 4 * took)  # a fifth of the time is enough for a large world


def has_records(path: Path) -> bool:
    """Whether a file has records: an empty one, made to be mounted, has none."""
    return path.exists() and path.stat().st_size > 0
