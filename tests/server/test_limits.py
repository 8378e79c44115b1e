"""How many connections there may be, by the files that the process may open."""

import resource

import pytest

from server.listen import connection_limit, raise_file_limit

NO_LIMIT = resource.RLIM_INFINITY


@pytest.mark.parametrize(
    ("files", "connections"),
    [
        (100, 50),
        (256, 128),
        (1024, 1024 - 128),
        (4096 + 127, 4095),
        (4096 + 128, 4096),
        (100_000, 4096),
        (NO_LIMIT, 4096),
    ],
)
def test_some_files_are_left_for_other_things_than_connections(
    monkeypatch: pytest.MonkeyPatch, files: int, connections: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (files, NO_LIMIT))
    assert connection_limit() == connections


@pytest.mark.parametrize(
    ("soft", "hard", "raised"),
    [
        (1024, 100_000, [(4096 + 128, 100_000)]),
        (1024, NO_LIMIT, [(4096 + 128, NO_LIMIT)]),
        (1024, 2048, [(2048, 2048)]),
        (1024, 1024, []),
        (4096 + 128, 100_000, []),
        (100_000, 100_000, []),
        (NO_LIMIT, NO_LIMIT, []),
    ],
)
def test_the_limit_of_files_is_raised_as_far_as_the_connections_need(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, raised: list[tuple[int, int]]
) -> None:
    limits: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda kind, both: limits.append(both))
    raise_file_limit()
    assert limits == raised


@pytest.mark.parametrize("error", [OSError, ValueError])
def test_a_limit_that_cannot_be_raised_stays(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def fail(kind: int, both: tuple[int, int]) -> None:
        raise error

    monkeypatch.setattr(resource, "getrlimit", lambda kind: (1024, NO_LIMIT))
    monkeypatch.setattr(resource, "setrlimit", fail)
    raise_file_limit()
