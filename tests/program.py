"""The program: as a function in this process, which is quick, and as a process of its own."""

import io
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any, NamedTuple, TextIO

from cli.main import main
from stub import create_stub
from tests.conftest import ROOT

READY = "listening on "

# A COMMAND that asks for all that the program serves from its files, and for what it stores.
CLIENT = """
import json, os, sys
from urllib.request import Request, urlopen

def get(path):
    headers = {"Authorization": "Bearer " + os.environ["STUB_TOKEN"]}
    return urlopen(Request(os.environ["STUB_URL"] + path, headers=headers)).read()

print(*[project["name"] for project in json.loads(get("/v1/projects"))["projects"]])
assert json.loads(get("/openapi.json"))["openapi"]
assert json.loads(get("/_stub/openapi.json"))["openapi"]
for path in ("/", "/llms.txt", "/_stub/console/preact.js", "/_stub/console/console.css"):
    assert len(get(path)) > 500
sys.exit(7)
"""


class Outcome(NamedTuple):
    """What a run of the program left."""

    status: int
    stdout: str
    stderr: str
    result: Any  # what `during` returned


class Stdout(io.StringIO):
    """Starts `during` in a thread, with the URL, when the program prints that it listens."""

    def __init__(self, during: Callable[[str], Any]) -> None:
        super().__init__()
        self.during = during
        self.thread: threading.Thread | None = None
        self.result: Any = None
        self.error: BaseException | None = None

    def write(self, text: str) -> int:
        if text.startswith(READY):
            self.thread = threading.Thread(target=self._run, args=(text.split()[-1],))
            self.thread.start()
        return super().write(text)

    def _run(self, url: str) -> None:
        try:
            self.result = self.during(url)
        except BaseException as error:
            self.error = error
        finally:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)


def run(
    *args: str,
    during: Callable[[str], Any] = lambda url: None,
    env: Mapping[str, str] | None = None,
    create_stub: Callable[..., Any] = create_stub,
    stdout: TextIO | None = None,
    stderr: TextIO | None = None,
) -> Outcome:
    """Run the program as a function, in this process, until it ends.

        done = run("--empty", during=lambda url: call(url, "/v1/projects"))
        assert done.result.json == {"projects": []}

    Once it listens, on a free port, `during` is called with its URL, in a thread; then SIGTERM ends
    the program. A COMMAND is a real process, which ends the program; its output is capfd's. With a
    `stdout` of its own, the program is ended by nobody.
    """
    printed, said = Stdout(during), io.StringIO()
    environ = environment(env if "--" in args else {"STUB_PORT": "0", **(env or {})})
    with process_state():
        try:
            status = main(create_stub, args, environ, stdout or printed, stderr or said)
        finally:
            if printed.thread:
                printed.thread.join()
    if printed.error:
        raise printed.error
    return Outcome(status, printed.getvalue(), said.getvalue(), printed.result)


@contextmanager
def process_state() -> Iterator[None]:
    """Put back what the program changes for its whole process, and survive a late SIGTERM."""
    logger = logging.getLogger("waitress")
    level = logger.level
    handler = signal.signal(signal.SIGTERM, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, handler)
        logger.setLevel(level)


def not_started(*args: str, env: Mapping[str, str] | None = None) -> str:
    """What the program writes to stderr if it does not start, which it must not."""
    done = run(*args, env=env)
    assert (done.status, done.stdout) == (2, ""), done
    assert done.stderr.startswith("error: ")
    return done.stderr


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process' environment without what would change the program."""
    changing = ("STUB_", "VERIFY_", "PYTHON", "PYTEST_", "FLASK_")
    mine = {name: value for name, value in os.environ.items() if not name.startswith(changing)}
    return {**mine, "PYTHONWARNINGS": "error", **(more or {})}


class Process(subprocess.Popen[str]):
    """Its output goes to pipes."""

    stdout: IO[str]
    stderr: IO[str]


@contextmanager
def process(*words: str, env: Mapping[str, str] | None = None, **more: Any) -> Iterator[Process]:
    """A process that Python starts in the root of the repository; it is killed at the end."""
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with Process(
        [sys.executable, *words],
        env=environment(env),
        text=True,
        **{"cwd": ROOT, **streams, **more},
    ) as started:
        try:
            yield started
        finally:
            started.kill()


def finished(*words: str, **more: Any) -> Outcome:
    """What a process left that ends by itself."""
    with process(*words, **more) as running:
        stdout, stderr = running.communicate(timeout=30)
    return Outcome(running.returncode, stdout, stderr, None)


@contextmanager
def program(
    *args: str, env: Mapping[str, str] | None = None, **more: Any
) -> Iterator[tuple[Process, str]]:
    """A process that runs the program on a free port, and its URL."""
    with process("app.py", "--port", "0", *args, env=env, **more) as started:
        yield started, ready_url(started)


def ready_url(process: "subprocess.Popen[str]") -> str:
    """The URL of a program that has just started: it prints one line when it is ready."""
    assert process.stdout
    line = process.stdout.readline()
    assert line.startswith(READY), process.communicate()[1]
    return line.split()[-1]
