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
from typing import Any, NamedTuple

import pytest

from tests.conftest import ROOT, needs
from tests.contract import assert_problem
from tests.program import ready_url
from tests.wire import call, free_port, port_of

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

    def health(self, env: Mapping[str, str]) -> int:
        """The status of the health check, in a container with these variables."""
        kind, *words = self.config["Healthcheck"]["Test"]
        assert kind == "CMD"
        return self.execute(*words, **env).returncode

    @contextmanager
    def serving(self, user: str) -> Iterator["Container"]:
        """`docker run` with a token, on a free port, once it listens."""
        env = {"STUB_TOKEN": TOKEN, "STUB_PORT": str(free_port())}
        command = self.command(self.config["Entrypoint"], env, user)
        with subprocess.Popen(
            command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            container = Container(process, f"http://127.0.0.1:{env['STUB_PORT']}", env)
            try:
                assert port_of(ready_url(process)) == port_of(container.url)
                yield container
            finally:
                # setpriv drops the signal that --kill-child asks for.
                for first in container.first_processes() if process.poll() is None else ():
                    os.kill(first, signal.SIGKILL)
                process.kill()


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
def base(buildah: Buildah) -> None:
    """The files of the base, which has the name of the official one, and like it no bytecode."""
    container = buildah("from", "scratch")
    tree = buildah("mount", container)
    printed(["debootstrap", "--variant=minbase", "--include=python3-pip", DEBIAN, tree])
    for folder in Path(tree, "usr").rglob("__pycache__"):
        shutil.rmtree(folder)
    (name,) = {*NAMES}
    buildah("commit", "--rm", container, name)


@pytest.fixture(scope="session")
def image(buildah: Buildah, base: None, tmp_path_factory: pytest.TempPathFactory) -> Image:
    """Built with what pip has on this machine: its configuration, certificates and constraints."""
    secret = tmp_path_factory.mktemp("secret")
    environ = {"PIP_CONSTRAINT": str(secret / "constraints.txt"), **os.environ}
    (secret / "constraints.txt").write_text(f"# {CANARY}\nno-such-package == 1\n", "utf-8")
    options = ["--pull-never", "--format", "docker", "--isolation", "chroot"]
    options += secret_options(pip_options(environ), secret)
    buildah("build", *options, "-t", "stub", ".", cwd=ROOT)
    description = buildah("inspect", "--type", "image", "stub")
    config = json.loads(description)["Docker"]["config"]
    return Image(tree_of(buildah, "stub"), config, description)


def pip_options(environ: Mapping[str, str]) -> dict[str, str]:
    """What pip is configured with: by files, and stronger than these, by variables."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    lines = [line.partition("=") for line in printed(command, env=environ).splitlines()]
    order = ("global", "user", "site", ":env:")
    lines.sort(key=lambda line: order.index(line[0].partition(".")[0]))
    return {name.rpartition(".")[2]: ast.literal_eval(value) for name, _, value in lines}


def secret_options(options: Mapping[str, str], folder: Path) -> list[str]:
    """The options that give a build this configuration of pip, with the files that it names."""
    options = dict(options)
    sources = {"ca": options.get("cert", CERTIFICATES)}
    options["cert"] = CERTIFICATES
    if "constraint" in options:
        texts = [Path(each).read_text("utf-8") for each in options["constraint"].split()]
        (folder / "constraint").write_text("\n".join(texts), "utf-8")
        sources["constraint"] = str(folder / "constraint")
        options["constraint"] = "/run/secrets/constraint"
    lines = [f"{name} = {value}".replace("\n", "\n ") for name, value in options.items()]
    (folder / "pip.conf").write_text("\n".join(["[global]", f"# {CANARY}", *lines, ""]), "utf-8")
    sources["pip"] = str(folder / "pip.conf")
    return [f"--secret=id={name},src={source}" for name, source in sources.items()]


def test_nothing_secret_is_in_it(image: Image) -> None:
    assert CANARY not in image.description
    files = [path for path in image.tree.rglob("*") if path.is_file() and not path.is_symlink()]
    assert [path for path in files if CANARY.encode() in path.read_bytes()] == []


def test_it_needs_a_token(image: Image) -> None:
    done = image.execute(*image.config["Entrypoint"])
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: STUB_TOKEN")


@pytest.mark.parametrize("user", ["", UNKNOWN_USER])
def test_it_serves_until_it_is_stopped(user: str, image: Image) -> None:
    with image.serving(user) as container:
        assert_problem(call(container.url, "/v1/projects"), 401, "token_invalid")
        assert call(container.url, "/v1/projects", token=TOKEN).status_code == 200
        assert image.health(container.env) == 0
        assert container.stop() == 0
        assert image.health(container.env) == 1


@pytest.mark.parametrize("source", ["variables", "home"])
def test_the_configuration_of_pip_is_found_wherever_it_is(source: str, tmp_path: Path) -> None:
    constraints = tmp_path / "constraints.txt"
    constraints.write_text("flask < 4\n", "utf-8")
    settings = {"constraint": str(constraints), "index-url": "https://index.example/simple"}
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PIP_CONFIG_FILE": ""}
    if source == "home":
        del environ["PIP_CONFIG_FILE"]
        (tmp_path / ".config" / "pip").mkdir(parents=True)
        lines = ["[global]", *(f"{name} = {value}" for name, value in settings.items())]
        (tmp_path / ".config" / "pip" / "pip.conf").write_text("\n".join(lines), "utf-8")
    else:
        environ |= {"PIP_CONSTRAINT": str(constraints), "PIP_INDEX_URL": settings["index-url"]}
    found = pip_options(environ)
    assert found.items() >= settings.items()
    options = secret_options(found, tmp_path)
    assert f"--secret=id=constraint,src={tmp_path}/constraint" in options
    assert (tmp_path / "constraint").read_text("utf-8").strip() == "flask < 4"
    written = (tmp_path / "pip.conf").read_text("utf-8")
    assert "\nconstraint = /run/secrets/constraint\n" in written
    assert "\nindex-url = https://index.example/simple\n" in written
