"""--keep writes the records of the main world to a file. The next run starts from this file."""

import threading
import time
from pathlib import Path
from typing import Any

import stub

from . import files
from .stderr import say


class Keeper:
    """A context manager that writes the records at its start, after changes, and at its end.

    Every `pause` seconds it looks for changes, and repeats a write that has failed. Its start
    raises `OSError` if the file cannot be written.
    """

    def __init__(self, path: Path, worlds: stub.Worlds, pause: float = 1.0) -> None:
        self._path = path
        self._worlds = worlds
        self._pause = pause
        self._text = ""  # the content of the file
        self._at_rest: Any = None  # the state of the world, if only a change can change the text
        self._has_ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> None:
        is_continued = files.has_text(self._path)
        self.save()
        if is_continued:
            say(f"starting with the records in {self._path}\n")
        self._thread.start()

    def __exit__(self, *error: object) -> None:
        self._has_ended.set()
        self._thread.join()
        # The last `save()` writes the file even if nothing has changed.
        self._at_rest = None
        self._text = ""

    def save(self) -> None:
        """Write the file if the text of the records has changed. Raises `OSError`.

        While a deployment runs, the text changes: it has the remaining seconds of the timeline.
        """
        world = self._worlds.open(stub.MAIN)
        # After every change, the list of projects is a new list.
        state = world, world.store.list_projects(), world.clock.setting
        if state == self._at_rest:
            return
        text = stub.write_seed(world.store.records(), world.store.now())
        if text == self._text:
            self._at_rest = state
            return
        files.replace_file(self._path, text)
        self._text = text

    def _run(self) -> None:
        has_failed = False
        pause = self._pause
        while not self._has_ended.wait(pause):
            started = time.monotonic()
            try:
                self.save()
            except OSError as error:
                if not has_failed:
                    say(f"warning: {error.filename}: {error.strerror}: will retry\n")
                has_failed = True
            else:
                has_failed = False
            took = time.monotonic() - started
            pause = max(self._pause, 4 * took)  # Writing takes at most a fifth of the time.
