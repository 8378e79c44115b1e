"""nginx with a configuration of the documents."""

import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.conftest import needs

StartNginx = Callable[[Path, Callable[[int], str]], int]


@pytest.fixture(scope="module")
def start_nginx() -> Iterator[StartNginx]:
    """Starts nginx in a folder, with the configuration for a port; returns the port."""
    needs("nginx")
    with ExitStack() as stack:

        def start(folder: Path, configuration: Callable[[int], str]) -> int:
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=100))
            port: int = listener.getsockname()[1]
            (folder / "nginx.conf").write_text(configuration(port), "utf-8")
            words = ["nginx", "-p", str(folder), "-e", "stderr", "-c", "nginx.conf"]
            descriptor = listener.fileno()
            process = subprocess.Popen(
                [*words, "-g", "daemon off;"],
                cwd=folder,
                # It takes over a socket that listens.
                env={"PATH": f"{os.environ['PATH']}:/usr/sbin", "NGINX": f"{descriptor};"},
                pass_fds=[descriptor],
                stderr=subprocess.DEVNULL,  # it says so, and what is cut
            )
            stack.enter_context(process)
            stack.callback(process.terminate)
            return port

        yield start
