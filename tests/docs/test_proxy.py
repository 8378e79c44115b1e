"""docs/https.md and docs/scale.md are true: nginx before the stub, programs, a browser."""

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest

from tests.conftest import SAMPLE_SEED, make_stub, needs
from tests.docs.documents import FILES, TEXTS, blocks_like, execute, lines_of
from tests.live import running, serving
from tests.wire import call

pytestmark = pytest.mark.process

TOKEN, HOST = "team-secret", "192.168.1.20"
COMMANDS = lines_of("docs/https.md")
(NGINX,) = (command for command in COMMANDS if command.startswith("nginx "))
CLIENTS = {
    "client.mjs": """
const headers = { Authorization: "Bearer team-secret" };
const response = await fetch("https://127.0.0.1:8443/v1/projects", { headers });
console.log(await response.text());
""",
    "client.py": """
from urllib.request import Request, urlopen
headers = {"Authorization": "Bearer team-secret"}
print(urlopen(Request("https://127.0.0.1:8443/v1/projects", headers=headers)).read().decode())
""",
}


def start_nginx(stack: ExitStack, folder: Path, configuration: str) -> int:
    """Start nginx in a folder, with this configuration but for its port; return the port."""
    needs("nginx")
    listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=100))
    port: int = listener.getsockname()[1]
    text = re.sub(r"listen (127\.0\.0\.1:)?\d+", f"listen 127.0.0.1:{port}", configuration)
    (folder / "nginx.conf").write_text(text, "utf-8")
    started = subprocess.Popen(
        ["sh", "-c", f"exec {NGINX}"],
        cwd=folder,
        # It takes over a socket that listens.
        env={"PATH": f"{os.environ['PATH']}:/usr/sbin", "NGINX": f"{listener.fileno()};"},
        pass_fds=[listener.fileno()],
        stderr=subprocess.DEVNULL,  # it says so, and what is cut
    )
    stack.enter_context(started)
    stack.callback(started.terminate)
    return port


class Site(NamedTuple):
    """The stub behind the proxy."""

    folder: Path  # of the certificate
    port: int

    def run(self, command: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        """Run a command of the page."""
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        words = ["sh", "-c", command.replace("127.0.0.1:8443", f"127.0.0.1:{self.port}")]
        return execute(words, self.folder, PATH=path, HOME=str(self.folder), **variables)

    def curl(self, path: str, options: str = "", host: str = "127.0.0.1") -> str:
        """Call a path by HTTP/2, at any address of the certificate."""
        words = f"--http2 --cacert ca.crt --connect-to ::127.0.0.1:{self.port} {options}"
        url = f"https://{host}:8443{path}"
        return self.run(f"curl -sS {words} -H 'Authorization: Bearer {TOKEN}' '{url}'").stdout


def commands(*starts: str) -> list[str]:
    return [command for command in COMMANDS if command.startswith(starts)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    needs("openssl", "curl", "nginx")
    folder = tmp_path_factory.mktemp("https")
    (start,) = blocks_like(r".* --trusted-host")
    assert start.text.endswith(f"app.py --token {TOKEN} --trusted-host {HOST}")
    app = make_stub(seed=SAMPLE_SEED, tokens=[TOKEN], pace=300)
    with running(app, trusted_hosts=[HOST]) as server, ExitStack() as stack:
        for command in commands("openssl ", "rm "):
            done = Site(folder, 0).run(command)
            assert done.returncode == 0, done.stderr
        own = f"server 127.0.0.1:{server.effective_port}"
        configuration = FILES["nginx.conf"].replace("server 127.0.0.1:8080", own)
        site = Site(folder, start_nginx(stack, folder, configuration))
        for name, text in CLIENTS.items():
            (folder / name).write_text(text.replace("8443", str(site.port)), "utf-8")
        yield site


@pytest.mark.parametrize("command", commands("curl ", "NODE_", "SSL_"))
def test_every_program_reaches_the_stub_and_needs_the_authority(site: Site, command: str) -> None:
    needs("node")
    done = site.run(command)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["projects"]) == 3
    without = re.sub(r"--cacert \S+|^\w+=\S+ ", "", command)
    assert without != command
    assert site.run(without).returncode != 0


def test_the_proxy_forwards_what_was_sent_and_leaves_limits_and_cuts_to_the_stub(
    site: Site,
) -> None:
    site.curl("/_stub/reset", "-X POST")
    assert len(json.loads(site.curl("/v1/projects", host=HOST))["projects"]) == 3
    assert '"host_not_allowed"' in site.curl("/v1/projects", "-H 'Host: 10.0.2.2:8443'")
    is_json = "-H 'Content-Type: application/json'"
    (site.folder / "body").write_text(5_000_000 * "x")
    assert '"body_too_large"' in site.curl("/v1/projects", f"--data-binary @body {is_json}")
    assert '"headers_too_large"' in site.curl("/v1/projects", f"-H 'X-Long: {20_000 * 'x'}'")
    for size, shown in ((0, ""), (10, '{"projects')):
        site.curl("/_stub/faults", f"""{is_json} -d '{{"cut": {size}}}'""")
        assert site.curl("/v1/projects") == shown
    target = "/v1//a%2Fb/../c?x=%zz"
    site.curl(target, "--path-as-is -H 'X-Mine: 1' -H 'X_Other: 1'")
    *_, first, second, entry = json.loads(site.curl("/_stub/requests"))["requests"]
    assert [first["fault"], second["fault"]] == ["flt_1", "flt_2"]  # nothing is sent twice
    assert f"{entry['path']}?{entry['query']}" == target
    names = {name.lower(): value for name, value in entry["headers"].items()}
    own = {"host": f"127.0.0.1:{site.port}", "x-forwarded-proto": "https"}
    assert names.keys() == {*own, "user-agent", "accept", "authorization", "x-mine"}
    assert names.items() >= own.items()


@pytest.mark.slow
def test_a_browser_opens_the_console(site: Site) -> None:
    needs("chromium", "certutil")
    for command in commands("mkdir ", "certutil "):
        assert site.run(command).returncode == 0
    (url,) = re.findall(r"`(https://\S+/#token=\S+)`", TEXTS["docs/https.md"])
    options = "--headless --no-sandbox --virtual-time-budget=9000 --dump-dom"
    with TemporaryDirectory(dir="/tmp") as folder:  # the path of its socket must be short
        done = site.run(f"chromium {options} '{url}'", TMPDIR=folder)
    assert "website" in done.stdout, done.stderr


def test_each_world_has_one_process_of_several(tmp_path: Path) -> None:
    (block,) = blocks_like("events {}", "nginx")
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "".join(f"{kind}_temp_path {kind};\n" for kind in kinds)
    text = "pid pid;\n" + block.text.replace("http {", f"http {{\naccess_log off;\n{paths}", 1)
    with ExitStack() as stack:
        ports = [stack.enter_context(serving(make_stub())) for _ in range(4)]
        for number, port in enumerate(ports, 8081):
            text = text.replace(f"127.0.0.1:{number}", f"127.0.0.1:{port}")
        url = f"http://127.0.0.1:{start_nginx(stack, tmp_path, text)}"
        for number in 2 * [*range(60)]:
            call(url, "/v1/projects", token=f"dev-token.w{number}")
        listed = [call(f"http://127.0.0.1:{port}", "/_stub/worlds") for port in ports]
    counts = [len(response.json["worlds"]) - 1 for response in listed]  # without the main one
    assert sum(counts) == 60
    assert max(counts) <= 30
