"""docs/https.md and docs/scale.md are true: nginx before the stub, programs, a browser, teams."""

import json
import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest

from tests.conftest import ROOT, SAMPLE_NAMES, SAMPLE_SEED, make_stub, needs
from tests.docs.documents import FILES, TEXTS, blocks_like, execute, lines_of
from tests.live import running
from tests.program import process, ready_url
from tests.redis_server import RedisServer
from tests.wire import call

pytestmark = pytest.mark.process

HTTPS, SCALE = lines_of("docs/https.md"), lines_of("docs/scale.md")
(START,) = (text for text in TEXTS["docs/https.md"].splitlines() if "--trusted-host 1" in text)
(TOKEN,) = re.findall(r"--token (\S+)", START)
TRUSTED_HOSTS = re.findall(r"--trusted-host (\S+)", START)
CLIENTS = {
    "client.mjs": """
const headers = { Authorization: "Bearer TOKEN" };
const response = await fetch("https://127.0.0.1:PORT/v1/projects", { headers });
console.log(await response.text());
""",
    "client.py": """
from urllib.request import Request, urlopen

url, headers = "https://127.0.0.1:PORT/v1/projects", {"Authorization": "Bearer TOKEN"}
print(urlopen(Request(url, headers=headers)).read().decode())
""",
}


def start_nginx(stack: ExitStack, folder: Path, configuration: str) -> int:
    """Start nginx in a folder, with this configuration but for its port; return the port."""
    needs("nginx")
    listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=100))
    port: int = listener.getsockname()[1]
    text = re.sub(r"listen (127\.0\.0\.1:)?\d+", f"listen 127.0.0.1:{port}", configuration)
    (folder / "nginx.conf").write_text(text, "utf-8")
    words = ["nginx", "-p", str(folder), "-e", "stderr", "-c", "nginx.conf", "-g", "daemon off;"]
    started = subprocess.Popen(
        words,
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
        words = ["sh", "-c", command.replace(":8443", f":{self.port}")]
        return execute(words, self.folder, PATH=path, HOME=str(self.folder), **variables)

    def curl(self, *words: str, host: str = "127.0.0.1") -> "subprocess.CompletedProcess[str]":
        """Call a path of the proxy by HTTP/2, at any address of the certificate."""
        *options, path = words
        connect = ["--connect-to", f"{host}:8443:127.0.0.1:{self.port}"]
        fixed = ["curl", "-sS", "--http2", "--cacert", "ca.crt", *connect]
        token = ["-H", f"Authorization: Bearer {TOKEN}"]
        return execute([*fixed, *token, *options, f"https://{host}:8443{path}"], self.folder)

    def get(self, path: str, *words: str, host: str = "127.0.0.1") -> Any:
        return json.loads(self.curl(*words, path, host=host).stdout)


def commands(*starts: str) -> list[str]:
    return [command for command in HTTPS if command.startswith(starts)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    needs("openssl", "curl", "nginx")
    folder = tmp_path_factory.mktemp("https")
    app = make_stub(seed=SAMPLE_SEED, tokens=[TOKEN], pace=300)
    with running(app, trusted_hosts=TRUSTED_HOSTS) as server:
        for command in commands("openssl ", "rm "):
            done = Site(folder, 0).run(command)
            assert done.returncode == 0, done.stderr
        (start,) = commands("nginx ")
        assert shlex.split(start)[3:] == ["-e", "stderr", "-c", "nginx.conf", "-g", "daemon off;"]
        own = f"server 127.0.0.1:{server.effective_port}"
        configuration = FILES["nginx.conf"].replace("server 127.0.0.1:8080", own)
        with ExitStack() as stack:
            site = Site(folder, start_nginx(stack, folder, configuration))
            for name, text in CLIENTS.items():
                text = text.replace("PORT", str(site.port)).replace("TOKEN", TOKEN)
                (folder / name).write_text(text, "utf-8")
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


def test_the_stub_gets_what_was_sent_to_its_hosts_and_keeps_its_limits(site: Site) -> None:
    site.curl("-X", "POST", "/_stub/reset")
    target = "/v1//a%2Fb/../c?x=%zz"
    site.curl("--path-as-is", "-H", "X-Mine: 1", "-H", "X_Other: 1", target)
    entry = site.get("/_stub/requests")["requests"][-1]
    assert f"{entry['path']}?{entry['query']}" == target
    names = {name.lower(): value for name, value in entry["headers"].items()}
    own = {"host": "127.0.0.1:8443", "x-forwarded-proto": "https"}
    assert names.keys() == {*own, "user-agent", "accept", "authorization", "x-mine"}
    assert names.items() >= own.items()
    for host in TRUSTED_HOSTS:
        assert len(site.get("/v1/projects", host=host)["projects"]) == 3
    other = site.get("/v1/projects", "-H", "Host: 10.0.2.2:8443")
    assert other["code"] == "host_not_allowed"
    (site.folder / "body").write_text(5_000_000 * "x")
    json_type = ("-H", "Content-Type: application/json")
    response = site.get("/v1/projects", "--data-binary", "@body", *json_type)
    assert response["code"] == "body_too_large"
    response = site.get("/v1/projects", "-H", f"X-Long: {'x' * 20_000}")
    assert response["code"] == "headers_too_large"


def test_a_cut_arrives_and_nothing_is_sent_twice(site: Site) -> None:
    site.curl("-X", "POST", "/_stub/reset")
    for size, shown in {0: "", 10: '{"projects'}.items():
        fault = json.dumps({"cut": size})
        site.curl("-H", "Content-Type: application/json", "-d", fault, "/_stub/faults")
        done = site.curl("/v1/projects")
        assert (done.returncode != 0, done.stdout) == (True, shown)
    requests = site.get("/_stub/requests")["requests"]
    assert [entry["fault"] for entry in requests] == ["flt_1", "flt_2"]


@pytest.mark.slow
def test_a_browser_opens_the_console(site: Site) -> None:
    # A browser with a profile of its own starts.
    needs("chromium", "certutil")
    for command in commands("mkdir ", "certutil "):
        assert site.run(command).returncode == 0
    (url,) = re.findall(r"`(https://\S+/#token=\S+)`", TEXTS["docs/https.md"])
    options = "--headless --no-sandbox --virtual-time-budget=9000 --dump-dom"
    with TemporaryDirectory(dir="/tmp") as folder:  # the path of its socket must be short
        done = site.run(f"chromium {options} '{url}'", TMPDIR=folder)
    assert "website" in done.stdout, done.stderr


def test_each_world_has_one_process_and_loses_its_records_with_it_alone(tmp_path: Path) -> None:
    worlds = {f"w{number}" for number in range(60)}
    with ExitStack() as stack:
        apps = [make_stub(seed=SAMPLE_SEED) for _ in range(4)]
        first = stack.enter_context(ExitStack())
        servers = [first.enter_context(running(apps[0]))]
        servers += [stack.enter_context(running(app)) for app in apps[1:]]
        (block,) = blocks_like("events {}", "nginx")
        text = block.text
        for number, server in enumerate(servers, 8081):
            text = text.replace(f"127.0.0.1:{number}", f"127.0.0.1:{server.effective_port}")
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        paths = "".join(f"{kind}_temp_path {kind};\n" for kind in kinds)
        text = "pid pid;\n" + text.replace("http {", f"http {{\naccess_log off;\n{paths}", 1)
        port = start_nginx(stack, tmp_path, text)

        def ask(at: int, target: str, world: str = "", body: bytes = b"") -> Any:
            token = f"dev-token.{world}".rstrip(".")
            return call(f"http://127.0.0.1:{at}", target, body=body, token=token).json

        for world in worlds:
            ask(port, "/v1/projects", world, b'{"name": "own"}')
        listed = [ask(server.effective_port, "/_stub/worlds")["worlds"] for server in servers]
        homes = [{each["name"] for each in found} - {""} for found in listed]
        assert sorted(chain(*homes)) == sorted(worlds)  # each world has one
        assert max(map(len, homes)) <= len(worlds) / 2
        first.close()
        for world in worlds:
            is_lost = len(ask(port, "/v1/projects", world)["projects"]) == len(SAMPLE_NAMES)
            assert is_lost == (world in homes[0])


def test_two_teams_share_a_program_and_move_a_world_as_the_page_says(tmp_path: Path) -> None:
    """All commands of the page in order, but for that of Redis."""
    needs("curl", "openssl")
    make_tokens, start, *others = SCALE
    (of_redis,) = (command for command in others if command.startswith("redis-cli "))
    others.remove(of_redis)
    assert execute(["sh", "-c", make_tokens], tmp_path).returncode == 0
    tokens = tmp_path / "tokens"
    assert tokens.stat().st_mode & 0o077 == 0
    checkout, search = re.findall("=(.+)$", tokens.read_text("utf-8"), re.MULTILINE)
    options = start.removeprefix(".venv/bin/python app.py ").split()
    with process(str(ROOT / "app.py"), "--port", "0", *options, cwd=tmp_path) as started:
        url = ready_url(started)
        call(url, "/v1/projects", token=f"{search}.job-1", body=b'{"name": "a"}')
        script = "\n".join(["set -e", *others]).replace("http://127.0.0.1:8080", url)
        done = execute(["sh", "-c", script], tmp_path, OLD_TOKEN=search)
        assert done.returncode == 0, done.stderr
        moved = call(url, "/v1/projects", token=f"{checkout}.job-1").json
    listed, _, _ = done.stdout.partition("\n")
    assert len(json.loads(listed)["projects"]) == 3
    assert len(moved["projects"]) == 4
    lines = (tmp_path / "requests.jsonl").read_text("utf-8").splitlines()
    shown = [(each["tenant"], each["world"]) for each in map(json.loads, lines[:2])]
    assert shown == [("search", "job-1"), ("checkout", "job-1")]


def test_the_keys_of_an_earlier_version_are_deleted(
    shared_redis: RedisServer, tmp_path: Path
) -> None:
    needs("redis-cli")
    (command,) = (command for command in SCALE if "UNLINK" in command)
    shared_redis.clear()
    for key in ("{project-stub:}:state", "{project-stub:team-a/job 1}:index", "project-stub:new"):
        shared_redis.client.set(key, "")
    command = command.replace("HOST", "127.0.0.1").replace("PORT", str(shared_redis.port))
    assert execute(["sh", "-c", command], tmp_path).returncode == 0
    assert shared_redis.client.keys() == [b"project-stub:new"]
