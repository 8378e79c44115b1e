"""Known differences: a file that a team commits, and that has to stay true."""

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from tests.verify.changes import of_projects, on, put, without
from tests.verify.parts import CREATED, DEP_404, POST_201, STATUS, UNKNOWN
from tests.verify.service import Change, Service
from tests.verify.verified import Verified, verify

pytestmark = pytest.mark.process

NO_STATUS = on("deployment", body=without("status"))
NO_TIME = of_projects(put(created_at=7))
GONE = on("no deployment", status=410)
CREATED_200 = on("created", status=200)


def days_ago(days: int) -> str:
    return (datetime.now(timezone.utc) - timedelta(days=days)).date().isoformat()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "known.json"


def write_known(file: Path, *changes: Change, level: str = "read") -> list[dict[str, Any]]:
    verify(Service(*changes), "--write-known", str(file), level=level)
    return entries(file)


def entries(file: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(file.read_text("utf-8"))
    return found


def known(
    file: Path, *changes: Change, level: str = "read", options: tuple[str, ...] = ()
) -> Verified:
    return verify(Service(*changes), "--known", str(file), *options, level=level)


def test_a_run_writes_what_it_saw(file: Path) -> None:
    written = write_known(file, NO_STATUS, GONE)
    found = {(each["part"], each["verdict"]) for each in written}
    assert found == {(DEP_404, "differs"), (STATUS, "broken")}
    for each in written:
        assert set(each) == {"part", "verdict", "observed", "seen", "reason"}
        assert each["seen"] == days_ago(0)
        assert each["observed"]


def test_a_service_that_agrees_has_an_empty_list(file: Path) -> None:
    assert write_known(file) == []


def test_what_is_listed_and_seen_as_listed_is_no_finding(file: Path) -> None:
    write_known(file, NO_STATUS, NO_TIME)
    everything = ("--fail-on", "broken,differs,ledger,stale", "--max-age", "1")
    done = known(file, NO_STATUS, NO_TIME, options=everything)
    assert done.status == 0, done.stderr
    assert done.found == {(STATUS, "broken"), (CREATED, "differs")}


def test_what_was_seen_does_not_change_with_ids_and_times(file: Path) -> None:
    """`observed` is a form: the next run, with other ids, names and times, sees the same."""
    changes = (NO_STATUS, NO_TIME, GONE, CREATED_200, on("unknown", status=400))
    first = write_known(file, *changes, level="abuse")
    second = Service(*changes, id_form="{}_other_{}", sample=9, unique=True)
    options = ("--known", str(file), "--fail-on", "broken,differs,ledger")
    assert verify(second, *options, level="abuse").status == 0
    assert len(first) == 5


@pytest.mark.parametrize(
    ("now", "part"),
    [((), DEP_404), ((on("no deployment", status=403),), DEP_404)],
    ids=["it agrees now", "it differs in another way"],
)
def test_what_is_not_as_listed_is_a_finding(file: Path, now: tuple[Change, ...], part: str) -> None:
    write_known(file, GONE)
    done = known(file, *now)
    assert done.status == 1
    assert "ledger" in done.stdout + done.stderr
    assert part.rpartition("/")[2] in done.stdout + done.stderr
    assert known(file, *now, options=("--fail-on", "broken")).status == 0


def test_a_broken_part_that_is_kept_now_is_a_finding(file: Path) -> None:
    write_known(file, NO_STATUS)
    assert known(file).status == 1


def test_what_this_run_could_not_see_has_not_vanished(file: Path) -> None:
    assert [each["part"] for each in write_known(file, CREATED_200, level="write")] == [POST_201]
    assert known(file, level="read").status == 0
    assert known(file, on("created", status=500), level="write").status == 0
    assert known(file, level="write").status == 1


def test_an_entry_of_an_unchecked_part_has_not_vanished(file: Path) -> None:
    write_known(file, on("unknown", status=400))
    assert known(file, on("unknown", status=503)).status == 0


@pytest.mark.parametrize(("age", "status"), [(8, 1), (7, 0), (0, 0)])
def test_an_entry_that_no_run_has_confirmed_is_stale(file: Path, age: int, status: int) -> None:
    [entry] = write_known(file, CREATED_200, level="write")
    file.write_text(json.dumps([{**entry, "seen": days_ago(age)}]))
    done = known(file, options=("--max-age", "7", "--fail-on", "stale"))
    assert done.status == status
    assert ("finding: stale" in done.stdout) == bool(status)
    # It is by default no reason to fail.
    assert known(file, options=("--max-age", "7")).status == 0
    assert known(file, options=("--fail-on", "stale")).status == 0


def test_an_entry_that_this_run_confirms_is_not_stale(file: Path) -> None:
    [entry] = write_known(file, GONE)
    file.write_text(json.dumps([{**entry, "seen": days_ago(400)}]))
    assert known(file, GONE, options=("--max-age", "7", "--fail-on", "stale,ledger")).status == 0


@pytest.mark.parametrize(
    ("change", "fail_on", "status"),
    [
        (NO_STATUS, None, 1),
        (GONE, None, 0),
        (GONE, "differs", 1),
        (NO_STATUS, "differs", 0),
        (NO_STATUS, "differs,broken", 1),
        (GONE, "broken, differs", 1),
    ],
)
def test_fail_on_says_what_is_a_finding(change: Change, fail_on: str | None, status: int) -> None:
    options = ("--fail-on", fail_on) if fail_on else ()
    assert verify(Service(change), *options).status == status


@pytest.mark.parametrize("option", ["--known", "--write-known"])
def test_reasons_and_unseen_entries_are_kept(file: Path, option: str) -> None:
    """A run that sees less than the file does not take from it."""
    write_known(file, GONE, CREATED_200, level="write")
    before = [{**each, "reason": each["part"], "seen": days_ago(9)} for each in entries(file)]
    file.write_text(json.dumps(before))
    verify(Service(GONE, CREATED_200), option, str(file), "--write-known", str(file))
    after = {each["part"]: each for each in entries(file)}
    for each in before:
        seen = days_ago(0) if each["part"] == DEP_404 else each["seen"]
        assert after[each["part"]] == {**each, "seen": seen}


def entry(**members: Any) -> str:
    """A file with one entry that is as it should be but for these members."""
    whole = {"part": UNKNOWN, "verdict": "differs", "observed": "400", "seen": "2026-11-22"}
    return json.dumps([{**whole, "reason": "", **members}])


def test_a_reason_is_for_one_difference(file: Path) -> None:
    file.write_text(entry(reason="we know"))
    [written] = write_known(file, on("unknown", status=403))
    assert (written["observed"], written["reason"]) == ("403", "")


def test_a_run_that_sees_fewer_forms_than_listed_finds_nothing(file: Path) -> None:
    file.write_text(entry(observed="400; 403"))
    everything = ("--fail-on", "broken,differs,ledger")
    assert known(file, on("unknown", status=400), options=everything).status == 0
    assert known(file, on("unknown", status=410), options=everything).status == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[7]",
        '[{"part": "#/a"}]',
        entry(part=7),
        entry(verdict="wrong"),
        entry(seen="soon"),
        entry(seen=20261122),
        entry(observed=None),
        entry()[:-1],
        pytest.param("[" * 100_000, id="deep"),
        "\udcff",
    ],
)
def test_a_file_of_another_form_is_rejected_before_anything_is_asked(file: Path, text: str) -> None:
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    service = Service()
    done = verify(service, "--known", str(file))
    assert (done.status, service.requests) == (2, [])
    assert str(file) in done.stderr


def test_the_file_stays_as_it_was_if_nothing_could_be_checked(file: Path) -> None:
    write_known(file, GONE)
    before = file.read_bytes()
    done = verify(Service(on(status=503)), "--write-known", str(file))
    assert (done.status, file.read_bytes()) == (2, before)


def test_an_entry_of_a_part_that_the_contract_has_not_is_a_finding(file: Path) -> None:
    file.write_text(entry(part="#/no/such"))
    assert known(file).status == 1
