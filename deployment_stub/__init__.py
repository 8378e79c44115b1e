"""The distribution: the class `Stub`, the plugin of pytest, and the program.

PYTEST_DONT_REWRITE, since a plugin of a team may import it before that of pytest.
"""

from .stub_fixture import Stub as Stub
from .stub_fixture import StubError as StubError
from .stub_fixture import World as World
