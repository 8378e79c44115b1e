"""The distribution, with the tree of the repository below it: `from deployment_stub import Stub`.

PYTEST_DONT_REWRITE, since a plugin of a team may import it before that of pytest.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .docs.fixtures.stub_fixture import Stub as Stub
    from .docs.fixtures.stub_fixture import StubError as StubError
    from .docs.fixtures.stub_fixture import World as World
else:

    def __getattr__(name: str) -> Any:
        """Import the class at its first use: the program is in this package, too."""
        if name not in ("Stub", "StubError", "World"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from .docs.fixtures import stub_fixture

        return getattr(stub_fixture, name)


if not Path(__file__).with_name("docs").exists():  # a clone: the tree is beside this folder
    __path__.append(str(Path(__file__).parent.parent))
