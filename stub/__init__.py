"""What makes the service a good stub, nearly all of it under `/_stub`: the service runs without it.

What the program needs of it, it finds here.
"""

from web.times import parse_time

from .access_log import format_line
from .app import create_stub
from .console import POLL_PATH
from .control.verdict import Verdict
from .cors import check_origins
from .grease.axes import AXES, MAX_SEED, TIER_1, parse_axes
from .request.failures import (
    FAILURES,
    STALL,
    STALLED,
    Attempt,
    Failures,
    Reaction,
    RunJournal,
    find_wrong_reactions,
    read_reactions,
)
from .request.findings import CHOICES, Finding, make_finding, parse_kinds
from .request.paths import is_control_path
from .world.clock import MAX_ADVANCE
from .world.options import Options
from .world.rules import check
from .world.seed import Seed, make_sample, read_seed, read_states, write_seed
from .world.store import SharedStores
from .world.tokens import MAIN, Tokens
from .world.world import Common
from .world.worlds import Worlds
