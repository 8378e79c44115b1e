"""The service as a stub: with worlds, a clock, faults, a journal and more, most of it at `/_stub`.

Read first: `app` (the order of the steps), `steps`, `world/worlds` (`Visit`), `world/world`,
`request/faults` (`Outcome`), `request/entry`.

The program imports from here, from `failures` with `--probe`, and from `sample` with `--like`.
A function imports a module that most programs do not need: the start is faster.
"""

from web.times import parse_time

from .access_log import format_line
from .app import create_stub
from .console import POLL_PATH
from .control.verdict import Verdict
from .cors import check_origins
from .grease import axes
from .request.findings import CHOICES, Finding, make_finding, parse_kinds
from .request.paths import is_control_path
from .world.clock import MAX_ADVANCE
from .world.options import Options
from .world.rules import check_value
from .world.seed import Seed, read_sample, read_seed, read_states, write_seed
from .world.store import SharedStores
from .world.worlds import MAIN, Tokens, Worlds
