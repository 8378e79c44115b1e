"""What makes the service a good stub, nearly all of it under `/_stub`: the service runs without it.

What the program needs of it, it finds here.
"""

from web.times import parse_time

from .app import create_stub
from .clock import MAX_ADVANCE
from .console import POLL_PATH
from .cors import check_origins
from .findings import CHOICES, Finding, finding_of, parse_kinds
from .grease.axes import AXES, MAX_SEED, TIER_1, parse_axes
from .options import Options
from .verdict import Verdict
from .world import Common
from .worlds import Worlds
