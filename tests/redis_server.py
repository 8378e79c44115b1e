"""A real Redis server for tests, in a temporary folder and on a free port."""

import signal
import subprocess
from tempfile import TemporaryDirectory

from redis import Redis

from tests.wire import free_port


class RedisServer:
    """Started with its making; `kill` and `start` end it and bring it back on the same port."""

    process: "subprocess.Popen[bytes]"

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(dir="/tmp", prefix="redis-")
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.socket = f"{self._folder.name}/s"  # not in TMPDIR: a socket's path is short
        self.client = Redis(unix_socket_path=self.socket)  # is certainly this server
        self._command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1"]
        self._command += ["--dir", self._folder.name, "--unixsocket", self.socket, "--save", ""]
        self.start()

    def start(self) -> None:
        """Returns when it listens."""
        self.process = subprocess.Popen(self._command, stdout=subprocess.PIPE)
        assert self.process.stdout
        with self.process.stdout as log:  # which it can do without from then on
            printed = b""
            while b"eady to accept connections" not in printed:
                line = log.readline()
                assert line, f"Redis does not start: {printed.decode()}"
                printed += line

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def clear(self) -> None:
        """Whatever a test did to it: it runs, responds, and is empty."""
        self.process.send_signal(signal.SIGCONT)
        if self.process.poll() is not None:
            self.start()
        self.client.config_set("maxmemory", 0)
        self.client.flushall()

    def close(self) -> None:
        self.client.close()
        self.kill()
        self._folder.cleanup()
