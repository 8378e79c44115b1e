"""A real Redis server for tests, in a temporary folder and on a free port."""

import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from flask import Flask
from redis import Redis, RedisError

from app import create_app
from redis_store import connect
from stub.seed import SAMPLE, read_seed
from tests.wire import free_port

PROGRAM = shutil.which("redis-server")


class RedisServer:
    """Started with its making; `kill` and `start` end it and bring it back on the same port."""

    process: "subprocess.Popen[bytes]"

    def __init__(self, folder: Path, *options: str) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.client = Redis(port=self.port)
        self._folder = folder
        self._options = options
        self.start()

    def start(self) -> None:
        """Returns when it responds."""
        command = [str(PROGRAM), "--port", str(self.port), "--bind", "127.0.0.1"]
        command += ["--dir", str(self._folder), "--save", "", *self._options]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 10
        while not self._responds():
            assert time.monotonic() < deadline
            assert self.process.poll() is None

    def _responds(self) -> bool:
        try:
            return bool(self.client.ping())
        except RedisError:
            return False

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def pause(self) -> None:
        """It keeps its connections and responds to nothing."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        self.client.close()
        self.kill()


@contextmanager
def running_redis(folder: Path, *options: str) -> Iterator[RedisServer]:
    server = RedisServer(folder, *options)
    try:
        yield server
    finally:
        server.close()


def app_on(url: str, clock: Callable[[], datetime]) -> Flask:
    return create_app(clock=clock, seed=read_seed(SAMPLE), new_store=connect(url, threads=16))
