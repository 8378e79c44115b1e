"""An app with grease, and what its tests share with those of other folders."""

from typing import Any
from urllib.parse import quote

from flask import Flask

import stub
from tests.conftest import START as START
from tests.conftest import make_stub

AXES = tuple(stub.axes.AXES)


def greased_app(axes: tuple[str, ...], grease_seed: int, **options: Any) -> Flask:
    """An app with random ids, as the program has, unless the options say otherwise."""
    given = {"clock": lambda: START, "grease": axes, "grease_seed": grease_seed, **options}
    return make_stub(**given)


def path_of(deployment_id: str) -> str:
    return f"/v1/deployments/{quote(deployment_id, safe='')}"
