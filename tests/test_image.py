"""The image of the Dockerfile, built by buildah on Debian's Python, and run without a daemon.

The base has the name, the Debian and the minor version of Python of the official one. A container
is a process that has its own file system, and that is the first one in its process namespace. It
shares the network of the machine.
"""

import ast
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any, NamedTuple

import pytest

from tests.conftest import ROOT, eventually, needs
from tests.contract import assert_problem
from tests.program import ready_url, run
from tests.wire import Connection, call, free_port, get, port_of

# One worker builds the image.
pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.xdist_group("image")]

# The official base is this Debian, too, whose own Python has the same minor version.
DEBIAN = "trixie"
NAMES = re.findall(r"^FROM (\S+)", (ROOT / "Dockerfile").read_text("utf-8"), re.MULTILINE)
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
UNKNOWN_USER = "54321"  # to the image
TOKEN = "a-token-of-my-own"
CANARY = secrets.token_hex(16)  # in the configuration of pip

# Runs a command in a folder, of which nothing can be written to.
CONTAINER = """
mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && mount -t proc proc "$0/proc"
exec chroot "$0" "$@"
"""


class Image(NamedTuple):
    """An image: its files, and what `docker inspect` says of it."""

    tree: Path
    config: dict[str, Any]
    description: str

    def command(self, words: Sequence[str], env: Mapping[str, str], user: str) -> list[str]:
        """What runs the words in a container, without any capability."""
        uid, _, gid = (user or self.config["User"]).partition(":")
        variables = [f"PATH={PATH}", *self.config["Env"]]
        return [
            *("unshare", "--mount", "--pid", "--fork", "--kill-child"),
            *("sh", "-ec", CONTAINER, str(self.tree)),
            *("setpriv", f"--reuid={uid}", f"--regid={gid or uid}", "--clear-groups"),
            *("--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"),
            *("env", "-i", "-C", self.config["WorkingDir"], *variables),
            *(f"{name}={value}" for name, value in env.items()),
            *words,
        ]

    def execute(self, *words: str, **env: str) -> "subprocess.CompletedProcess[str]":
        """`docker run --entrypoint`, to its end."""
        command = self.command(words, env, "")
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    def run(self, *args: str, **env: str) -> "subprocess.CompletedProcess[str]":
        """`docker run IMAGE ARGS`, to its end."""
        return self.execute(*self.config["Entrypoint"], *args, **env)

    def health(self, env: Mapping[str, str]) -> int:
        """The status of the health check, in a container with these variables."""
        kind, *words = self.config["Healthcheck"]["Test"]
        assert kind == "CMD"
        return self.execute(*words, **env).returncode

    @contextmanager
    def starting(self, *args: str, user: str = "", **more: str) -> Iterator["Container"]:
        """`docker run IMAGE ARGS` with a token, on a free port."""
        env = {"STUB_TOKEN": TOKEN, "STUB_PORT": str(free_port()), **more}
        command = self.command([*self.config["Entrypoint"], *args], env, user)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen(command, text=True, **pipes) as process:  # type: ignore[call-overload]
            container = Container(process, f"http://127.0.0.1:{env['STUB_PORT']}", env)
            try:
                yield container
            finally:
                # setpriv drops the signal that --kill-child asks for.
                for first in container.first_processes() if process.poll() is None else ():
                    os.kill(first, signal.SIGKILL)
                process.kill()

    @contextmanager
    def serving(self, *args: str, **more: str) -> Iterator["Container"]:
        """The same, once it listens."""
        with self.starting(*args, **more) as container:
            assert port_of(ready_url(container.process)) == port_of(container.url)
            yield container


class Container(NamedTuple):
    """A container that runs."""

    process: "subprocess.Popen[str]"
    url: str
    env: Mapping[str, str]

    def stop(self) -> int:
        """`docker stop`: the status of the first process after a signal; Docker waits so long."""
        (first,) = self.first_processes()
        os.kill(first, signal.SIGTERM)
        return self.process.wait(10)

    def first_processes(self) -> list[int]:
        """The id, outside the container, of the first process, if it is started."""
        own = self.process.pid
        children = Path(f"/proc/{own}/task/{own}/children").read_text("utf-8")
        return [int(each) for each in children.split()]

    def has_handler(self) -> bool:
        """Whether the first process handles the signal, which Linux ignores else."""
        for first in self.first_processes():
            status = Path(f"/proc/{first}/status").read_text("utf-8")
            caught = int(re.findall(r"^SigCgt:\s*(\w+)$", status, re.MULTILINE)[0], 16)
            return bool(caught >> signal.SIGTERM - 1 & 1)
        return False


Buildah = Callable[..., str]


@pytest.fixture(scope="session")
def buildah() -> Iterator[Buildah]:
    """Runs buildah with a storage of its own, and returns what it prints."""
    needs("buildah", "debootstrap", "unshare")
    if os.geteuid() != 0:
        pytest.skip("the image is built as root")
    # Not in /tmp, which may be in memory.
    with TemporaryDirectory(dir="/var/tmp", prefix="image-") as folder:
        storage = ["--root", f"{folder}/root", "--runroot", f"{folder}/run"]

        def run_buildah(*words: str, **more: Any) -> str:
            return printed(["buildah", *storage, *words], **more)

        yield run_buildah
        run_buildah("umount", "--all")
        run_buildah("rm", "--all")


def printed(command: Sequence[str], **more: Any) -> str:
    """What a command prints."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return str(done.stdout).strip()


def tree_of(buildah: Buildah, image: str) -> Path:
    """The files of an image."""
    return Path(buildah("mount", buildah("from", "--pull-never", image)))


@pytest.fixture(scope="session")
def base(buildah: Buildah) -> Path:
    """The files of the base, which has the name of the official one, and like it no bytecode."""
    container = buildah("from", "scratch")
    tree = buildah("mount", container)
    printed(["debootstrap", "--variant=minbase", "--include=python3-pip", DEBIAN, tree])
    for folder in Path(tree, "usr").rglob("__pycache__"):
        shutil.rmtree(folder)
    (name,) = {*NAMES}
    buildah("commit", "--rm", container, name)
    return tree_of(buildah, name)


@pytest.fixture(scope="session")
def secret_options(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The options that give pip in the image the configuration that it has on this machine."""
    listed = printed([sys.executable, "-m", "pip", "config", "list"]).splitlines()
    # An option may be in several sections and variables; the later one is stronger.
    settings = [line.partition("=") for line in listed]
    options = {name.rpartition(".")[2]: ast.literal_eval(value) for name, _, value in settings}
    certificates = options.get("cert", CERTIFICATES)
    options["cert"] = CERTIFICATES
    lines = [f"{name} = {value}".replace("\n", "\n ") for name, value in options.items()]
    path = tmp_path_factory.mktemp("secret") / "pip.conf"
    path.write_text("\n".join(["[global]", f"# {CANARY}", *lines, ""]), "utf-8")
    return [f"--secret=id=pip,src={path}", f"--secret=id=ca,src={certificates}"]


@pytest.fixture(scope="session")
def build(buildah: Buildah, base: Path, secret_options: list[str]) -> Callable[..., Image]:
    """Builds an image from a folder."""

    def build_image(folder: Path, name: str, **more: Any) -> Image:
        options = ["--pull-never", "--format", "docker", "--isolation", "chroot", *secret_options]
        buildah("build", *options, "-t", name, ".", cwd=folder, **more)
        description = buildah("inspect", "--type", "image", name)
        config = json.loads(description)["Docker"]["config"]
        return Image(tree_of(buildah, name), config, description)

    return build_image


@pytest.fixture(scope="session")
def image(build: Callable[..., Image]) -> Image:
    return build(ROOT, "stub")


def files_of(tree: Path) -> dict[str, tuple[int, int, int, bytes]]:
    """Each file with its mode, its owner and its content; bytecode without content."""
    files = {}
    for path in tree.rglob("*"):
        status, content = path.lstat(), b""
        if path.is_symlink():
            content = os.fsencode(path.readlink())
        elif path.is_file() and path.suffix != ".pyc":
            content = path.read_bytes()
        name = str(path.relative_to(tree))
        files[name] = (status.st_mode, status.st_uid, status.st_gid, content)
    return files


def size_of(tree: Path) -> int:
    """The bytes on the disk."""
    return sum(path.lstat().st_blocks * 512 for path in tree.rglob("*"))


def test_it_says_how_to_run_it(image: Image) -> None:
    config = image.config
    user, group = map(int, config["User"].split(":"))
    assert min(user, group) > 0
    assert list(config["ExposedPorts"]) == ["8080/tcp"]
    assert config["StopSignal"] == "SIGTERM"
    assert config["Healthcheck"]["Timeout"] > 5e9  # nanoseconds; the command has 5 seconds
    prefix = "org.opencontainers.image."
    assert config["Labels"].keys() > {f"{prefix}title", f"{prefix}description"}
    assert f"{config['Labels'][f'{prefix}version']}\n" == run("--version").stdout


def test_the_python_of_the_tests_has_the_version_in_the_name(image: Image) -> None:
    (name,) = {*NAMES}
    version = name.removeprefix("python:").removesuffix("-slim")
    assert image.execute("python3", "--version").stdout.startswith(f"Python {version}.")


def test_it_has_the_program_with_its_documents_and_nothing_else(image: Image, base: Path) -> None:
    added = files_of(image.tree).keys() - files_of(base).keys()
    added = {name for name in added if "__pycache__" not in name}
    assert {name.partition("/")[0] for name in added} == {"program", "work"}
    program = image.tree / "program"
    packages = {"blinker", "click", "flask", "itsdangerous", "jinja2", "markupsafe", "waitress"}
    ours = {path.name for path in ROOT.glob("*.py")} | {"openapi.json", "README.md", "docs"}
    ours |= {"web", "server", "stub", "cli", "redis_store", "__pycache__", "llms.txt"}
    names = {path.name for path in program.iterdir() if path.suffix != ".dist-info"}
    assert names == {*packages, "werkzeug", *ours}
    documents = {path.name for path in ROOT.glob("docs/*.md")} | {"fixtures"}
    assert {path.name for path in (program / "docs").iterdir()} == documents
    assert size_of(image.tree) - size_of(base) < 20_000_000


def test_nothing_of_the_configuration_of_pip_stays_in_it(image: Image) -> None:
    assert CANARY not in image.description
    holding = [name for name, file in files_of(image.tree).items() if CANARY.encode() in file[-1]]
    assert holding == []


def test_two_builds_have_the_same_files(
    image: Image, build: Callable[..., Image], tmp_path: Path
) -> None:
    """Whatever the modes and the times of a clone."""
    left_out = shutil.ignore_patterns(".*", "__pycache__", "node_modules", "bench", "tests", "dist")
    copy = Path(shutil.copytree(ROOT, tmp_path / "copy", ignore=left_out))
    shutil.copy(ROOT / ".dockerignore", copy)
    for path in copy.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
        os.utime(path, (10**9, 10**9))
    other = build(copy, "other", umask=0o077)
    assert files_of(other.tree) == files_of(image.tree)


def test_the_first_line_says_what_is_missing_and_what_to_type(image: Image) -> None:
    done = image.run()
    assert (done.returncode, done.stdout) == (2, "")
    line = done.stderr.splitlines()[0]
    assert line.startswith("error: STUB_TOKEN")
    ((name, value),) = re.findall(r"-e (\w+)=([\w-]+)", line)
    with image.serving(**{name: value}) as container:
        assert call(container.url, "/v1/projects", token=value).status_code == 200


def test_these_containers_are_read_only_and_without_capabilities(image: Image) -> None:
    done = image.execute("sh", "-c", "grep Cap /proc/self/status; touch /tmp/x")
    assert {line.split()[1] for line in done.stdout.splitlines()} == {"0" * 16}
    assert "Read-only file system" in done.stderr


@pytest.mark.parametrize("user", ["", UNKNOWN_USER])
def test_it_serves_until_it_is_stopped(user: str, image: Image) -> None:
    with image.serving(user=user) as container:
        with Connection(port_of(container.url)) as client:
            client.send(get("/v1/projects", "Host: localhost"))
            assert_problem(client.reply(), 401, "token_missing")
        assert_problem(call(container.url, "/v1/projects"), 401, "token_invalid")
        assert call(container.url, "/v1/projects", token=TOKEN).status_code == 200
        assert image.health(container.env) == 0
        assert image.health({**container.env, "STUB_PORT": str(free_port())}) == 1
        assert container.stop() == 0
        assert image.health(container.env) == 1


def test_the_variables_are_the_options(image: Image) -> None:
    with image.serving(STUB_EMPTY="1", STUB_NO_STUB="1") as container:
        assert call(container.url, "/v1/projects", token=TOKEN).json == {"projects": []}
        assert image.health(container.env) == 0


def test_it_can_be_stopped_before_it_listens(image: Image) -> None:
    """It reads a seed that has no end: as the user of this process, whose pipe it is."""
    with image.starting("--seed", "/dev/stdin", user="0") as container:
        eventually(container.has_handler)
        assert container.stop() == 0


def test_a_request_that_takes_long_is_not_waited_for_until_docker_kills(image: Image) -> None:
    with image.serving("--delay", "30") as container, Connection(port_of(container.url)) as client:
        client.send(get("/v1/projects", f"Authorization: Bearer {TOKEN}", "Host: localhost"))
        assert call(container.url, "/_stub/health").status_code == 200  # read after that request
        start = monotonic()
        assert container.stop() == 0
        assert monotonic() - start > 5


def test_a_command_runs_beside_the_server(image: Image) -> None:
    code = (
        "import os\n"
        "from urllib.request import Request, urlopen\n"
        "request = Request(os.environ['STUB_URL'] + '/v1/projects')\n"
        "request.add_header('Authorization', 'Bearer ' + os.environ['STUB_TOKEN'])\n"
        "print(urlopen(request).status)\n"
        "raise SystemExit(7)"
    )
    for variables in ({"STUB_TOKEN": TOKEN}, {"STUB_HOST": "127.0.0.1"}):
        done = image.run("--", "python3", "-c", code, **variables)
        assert (done.returncode, done.stdout) == (7, "200\n"), done.stderr


def test_no_module_is_compiled_at_a_start(image: Image) -> None:
    command = 'python3 /program/app.py health --port "${STUB_URL##*:}"'
    done = image.run("--", "sh", "-c", command, STUB_TOKEN=TOKEN, PYTHONVERBOSE="1")
    assert (done.returncode, done.stdout) == (0, "ready\n")
    assert "/program/cli/__pycache__/main." in done.stderr
    assert re.findall(r"^# code object from '?(/.*\.py)'?$", done.stderr, re.MULTILINE) == []
