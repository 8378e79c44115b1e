"""Runs of `verify`, in this process."""

import json
import tempfile
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from tests.program import run
from tests.verify.parts import Difference, Finding
from tests.verify.service import TOKEN, Service, listening

LEVELS = {"read": (), "write": ("--write",), "abuse": ("--write", "--abuse")}
QUICK = ("--pause", "0", "--wait", "0.1")  # what these services create appears at once
OF_INTEREST = ("broken", "differs", "could not check")


class Verified(NamedTuple):
    """What a run left; `report` is None if it wrote none."""

    status: int
    stdout: str
    stderr: str
    report: Any

    @property
    def parts(self) -> dict[str, dict[str, Any]]:
        return {each["part"]: each for each in self.report["parts"]}

    @property
    def found(self) -> set[Finding]:
        """The parts of which there is something to say."""
        verdicts = {(part, each["verdict"]) for part, each in self.parts.items()}
        return {each for each in verdicts if each[1] in OF_INTEREST}

    def seen(self, *verdicts: str) -> set[str]:
        return {part for part, each in self.parts.items() if each["verdict"] in verdicts}


def verify(
    service: Service | str,
    *options: str,
    level: str = "read",
    env: Mapping[str, str] | None = None,
) -> Verified:
    """Run `verify` on a service, or on what is at a URL."""
    environ = {"VERIFY_TOKEN": TOKEN} if env is None else env
    listens = nullcontext(service) if isinstance(service, str) else listening(service)
    with listens as url, tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "report.json")
        words = ("verify", url, *LEVELS[level], *QUICK, "--report", str(file), *options)
        done = run(*words, env=environ)
        report = json.loads(file.read_text("utf-8")) if file.exists() else None
    assert "Traceback" not in done.stdout + done.stderr, done
    return Verified(done.status, done.stdout, done.stderr, report)


def find(difference: Difference) -> Verified:
    """Verify a service of the table: what is found is what the table says, and nothing else."""
    done = verify(difference.service(), level=difference.level)
    assert done.found == difference.findings, done.stdout
    return done
