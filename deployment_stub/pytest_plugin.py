"""The fixtures of pytest, and their types: those of a file that others copy, docs/fixtures/
stub_fixture.py, which is imported when a test uses one.
"""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .docs.fixtures.stub_fixture import Program as Program
    from .docs.fixtures.stub_fixture import Stub as Stub
    from .docs.fixtures.stub_fixture import StubError as StubError
else:

    def __getattr__(name: str) -> Any:
        if name not in ("Program", "Stub", "StubError"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from .docs.fixtures import stub_fixture

        return getattr(stub_fixture, name)


@pytest.fixture(scope="session")
def stub_program(pytestconfig: pytest.Config) -> "Iterator[Program]":
    """The program, for all tests of this process."""
    from .docs.fixtures.stub_fixture import program_of

    with program_of(pytestconfig) as program:
        yield program


@pytest.fixture
def stub(request: pytest.FixtureRequest, stub_program: "Program") -> "Iterator[Stub]":
    """A world of this test's own, which is freed after the test."""
    from .docs.fixtures.stub_fixture import world_for

    with world_for(request.node, stub_program) as world:
        yield world


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Show the requests of a test that fails."""
    outcome: Any = yield
    if file := sys.modules.get(f"{__package__}.docs.fixtures.stub_fixture"):
        file.show_requests(item, outcome.get_result())
