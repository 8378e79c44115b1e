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
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
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
PACKAGES = "base-files,coreutils,dash,python3-pip,util-linux"
BASE = re.findall(r"^FROM (\S+)", (ROOT / "Dockerfile").read_text("utf-8"), re.MULTILINE)[0]
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
TOKEN = "a-token-of-my-own"
CANARY = secrets.token_hex(16)  # in the configuration of pip

# Runs a command in a folder, of which nothing can be written to.
CONTAINER = """
mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && mount -t proc proc "$0/proc"
exec chroot "$0" "$@"
"""


def printed(command: Sequence[str], **more: Any) -> str:
    """What a command prints."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return str(done.stdout).strip()


class Image(NamedTuple):
    """An image: its files, and what `docker inspect` says of it."""

    tree: Path
    config: dict[str, Any]
    description: str

    def command(self, words: Sequence[str], env: Mapping[str, str], user: str = "") -> list[str]:
        """What runs the words in a container, without any capability."""
        uid, _, gid = (user or self.config["User"]).partition(":")
        variables = [*self.config["Env"], *(f"{name}={value}" for name, value in env.items())]
        return [
            *("unshare", "--mount", "--pid", "--fork", "--kill-child"),
            *("sh", "-ec", CONTAINER, str(self.tree)),
            *("setpriv", f"--reuid={uid}", f"--regid={gid or uid}", "--clear-groups"),
            *("--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"),
            *("env", "-i", "-C", self.config["WorkingDir"], "PATH=/usr/bin:/bin", *variables),
            *words,
        ]

    def is_healthy(self, env: Mapping[str, str]) -> bool:
        kind, *words = self.config["Healthcheck"]["Test"]
        assert kind == "CMD"
        command = self.command(words, env)
        done = subprocess.run(command, capture_output=True, timeout=60, check=False)
        assert done.returncode in (0, 1)
        return done.returncode == 0


def children_of(process: "subprocess.Popen[str]") -> list[int]:
    """Of what starts a container: the first process in it, with its id outside."""
    path = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return [int(each) for each in path.read_text("utf-8").split()]


def pip_options(environ: Mapping[str, str]) -> dict[str, str]:
    """What pip is configured with: a variable is stronger than a file, `install` than `global`."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    lines = printed(command, env=environ).splitlines()
    found = [line.partition("=") for line in sorted(lines, key=lambda each: each[:5] == ":env:")]
    return {name.rpartition(".")[2]: ast.literal_eval(value) for name, _, value in found}


def secret_options(options: dict[str, str], folder: Path) -> list[str]:
    """The options that give a build this configuration of pip, with the files that it names."""
    constraints = [Path(each).read_text("utf-8") for each in options.get("constraint", "").split()]
    (folder / "constraint").write_text("\n".join([f"# {CANARY}", *constraints]), "utf-8")
    sources = {"ca": options.get("cert", CERTIFICATES), "constraint": f"{folder}/constraint"}
    options |= {"cert": CERTIFICATES, "constraint": "/run/secrets/constraint"}
    lines = [f"{name} = {value}".replace("\n", "\n ") for name, value in options.items()]
    (folder / "pip").write_text("\n".join([f"# {CANARY}", "[global]", *lines, ""]), "utf-8")
    sources["pip"] = f"{folder}/pip"
    return [f"--secret=id={name},src={source}" for name, source in sources.items()]


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    """Built with what pip has on this machine: its configuration, certificates and constraints."""
    needs("buildah", "mmdebstrap", "unshare", "root")
    # Not in /tmp, which may be in memory.
    with TemporaryDirectory(dir="/var/tmp", prefix="image-") as folder:

        def buildah(*words: str, **more: Any) -> str:
            storage = ["--root", f"{folder}/root", "--runroot", f"{folder}/run"]
            return printed(["buildah", *storage, *words], **more)

        try:
            yield built(buildah, tmp_path_factory.mktemp("secret"))
        finally:
            buildah("umount", "--all")
            buildah("rm", "--all")


def built(buildah: Callable[..., str], secret: Path) -> Image:
    container = buildah("from", "scratch")
    # Its packages are unpacked and not set up, which would write the bytecode of Python's modules:
    # the official base has none.
    base = ["mmdebstrap", "--quiet", "--variant=extract", f"--include={PACKAGES}", DEBIAN]
    printed([*base, buildah("mount", container)])
    buildah("commit", "--rm", container, BASE)
    options = ["--pull-never", "--format", "docker", "--isolation", "chroot"]
    # Newer versions of buildah raise these, which nobody may in a container.
    options += ["--ulimit=nofile=1024", "--ulimit=nproc=1024"]
    options += secret_options(pip_options(os.environ), secret)
    buildah("build", *options, "-t", "stub", ".", cwd=ROOT)
    description = buildah("inspect", "--type", "image", "stub")
    tree = buildah("mount", buildah("from", "--pull-never", "stub"))
    return Image(Path(tree), json.loads(description)["Docker"]["config"], description)


def test_nothing_secret_is_in_it(image: Image) -> None:
    assert CANARY not in image.description
    files = [path for path in image.tree.rglob("*") if path.is_file() and not path.is_symlink()]
    assert [path for path in files if CANARY.encode() in path.read_bytes()] == []


@pytest.mark.parametrize("user", ["", "54321"])  # that of the image, and one unknown to it
def test_it_serves_until_it_is_stopped(user: str, image: Image) -> None:
    profile = {"observed_at": "2026-11-24", "create": {"status": 202, "body": ["{project.name}"]}}
    (image.tree / "work" / "like.json").write_text(json.dumps(profile), "utf-8")
    env = {"STUB_TOKEN": TOKEN, "STUB_PORT": str(free_port()), "STUB_LIKE": "like.json"}
    command = image.command(image.config["Entrypoint"], env, user)
    pipe = subprocess.PIPE
    with subprocess.Popen(command, text=True, stdout=pipe, stderr=pipe) as process:
        try:
            url = ready_url(process)
            assert port_of(url) == int(env["STUB_PORT"])
            assert_problem(call(url, "/v1/projects"), 401, "token_invalid")
            assert call(url, "/v1/projects", token=TOKEN, body=b'{"name": "a"}').status_code == 202
            assert image.is_healthy(env)
            (first,) = children_of(process)
            os.kill(first, signal.SIGTERM)
            assert process.wait(10) == 0  # after which Docker kills
            assert not image.is_healthy(env)
        finally:
            # setpriv drops the signal that --kill-child asks for.
            for first in children_of(process) if process.poll() is None else ():
                os.kill(first, signal.SIGKILL)
