"""--fail-on says what is a finding; the file of --known has those that a team accepts."""

from pathlib import Path

import pytest

from tests.verify.changes import of_projects, on, put, without
from tests.verify.parts import CREATED, DEP_404, STATUS
from tests.verify.service import Change, Service
from tests.verify.verified import verify

pytestmark = pytest.mark.process

NO_STATUS = on("deployment", body=without("status"))
NO_TIME = of_projects(put(created_at=7))
GONE = on("no deployment", status=410)
LEAK = on("list", headers={"X-Sent": "Bearer tok-9f27%2FKc+abc~x.y=="})
ALL = ("--fail-on", "broken,differs,leaks")
GONE_LINE = f"differs: {DEP_404}: 404 here, 410 there"
STATUS_LINE = f"broken: {STATUS}: present here, missing there"


@pytest.mark.parametrize(
    ("change", "fail_on", "status"),
    [
        (NO_STATUS, None, 1),
        (GONE, None, 0),
        (LEAK, None, 1),
        (GONE, "differs", 1),
        (NO_STATUS, "differs", 0),
        (LEAK, "differs", 0),
        (NO_STATUS, "differs,broken", 1),
        (GONE, "broken, differs", 1),
    ],
)
def test_fail_on_says_what_is_a_finding(change: Change, fail_on: str | None, status: int) -> None:
    options = ("--fail-on", fail_on) if fail_on else ()
    done = verify(Service(change), *options)
    assert done.status == status
    assert ("\nfinding: " in done.stdout) == bool(status)


@pytest.mark.parametrize(
    ("text", "status", "unused"),
    [
        (f"{GONE_LINE}\n{STATUS_LINE}", 0, 0),
        (f"# ours\n\n{GONE_LINE} # we know\n{STATUS_LINE}\t# it is # late\n", 0, 0),
        ("broken: *\ndiffers: *DeploymentNotFound*", 0, 0),
        (f"#{GONE_LINE}", 1, 1),  # a comment has a space after its mark
        (GONE_LINE, 1, 0),
        (GONE_LINE.replace("410", "403") + f"\n{STATUS_LINE}", 1, 1),
        (f"differs: {CREATED}: *\ndiffers: *\nbroken: *", 0, 1),
        ("", 1, 0),
    ],
)
def test_a_known_finding_is_none(text: str, status: int, unused: int, tmp_path: Path) -> None:
    file = tmp_path / "known.txt"
    file.write_text(text)
    done = verify(Service(NO_STATUS, GONE), *ALL, "--known", str(file))
    assert done.status == status, done.stdout
    assert done.stdout.count("matches no finding") == unused


def test_a_line_is_used_if_its_kind_is_no_reason_to_fail(tmp_path: Path) -> None:
    file = tmp_path / "known.txt"
    file.write_text(GONE_LINE)
    assert "no finding:" not in verify(Service(GONE), "--known", str(file)).stdout
    assert "matches no finding" not in verify(Service(GONE), "--known", str(file)).stdout


def test_a_finding_is_the_same_with_other_ids_and_times(tmp_path: Path) -> None:
    file = tmp_path / "known.txt"
    changes = (NO_STATUS, NO_TIME, GONE, on("created", status=200))
    printed = verify(Service(*changes), *ALL, level="abuse").stdout
    lines = [each for each in printed.splitlines() if each.startswith("finding: ")]
    assert len(lines) == 4
    file.write_text("\n".join(each.removeprefix("finding: ") for each in lines))
    second = Service(*changes, id_form="{}_other_{}", sample=9)
    assert verify(second, *ALL, "--known", str(file), level="abuse").status == 0


def test_a_file_that_cannot_be_read_is_told_before_anything_is_asked(tmp_path: Path) -> None:
    (tmp_path / "known.txt").write_bytes(b"\xff")
    for file in (tmp_path / "known.txt", tmp_path / "none.txt", tmp_path):
        service = Service()
        done = verify(service, "--known", str(file))
        assert (done.status, service.requests) == (2, [])
        assert str(file) in done.stderr
