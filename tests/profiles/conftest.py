"""An app that is like a service, and what a client of it sees."""

import json
from typing import Any

from flask import Flask
from flask.testing import FlaskClient

from profiles.profile import Profile, make_profile
from stub.sample import make_sample
from tests.conftest import TOKEN, Clock, make_stub
from tests.services import DOCUMENTS

DATE = "2026-11-25"
NAME = "{project.name}"
SERVICES = {name: make_profile(document) for name, document in DOCUMENTS.items()}


def profile(**parts: Any) -> Profile:
    """A profile with these parts."""
    return make_profile({"observed_at": DATE, **parts})


def like(profile: Profile, **more: Any) -> Flask:
    """An app with the sample of a profile."""
    return make_stub(like=profile, **{"clock": Clock(), "seed": make_sample(profile), **more})


def client_of(app: Flask) -> FlaskClient:
    """A client whose responses are not held against the plain contract."""
    client = app.test_client()
    client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {TOKEN}"
    return client


def request_of(profile: Profile, name: str) -> str:
    """The request that creates a project of this name, with all that the example has."""
    return json.dumps(profile.request.value).replace(NAME, name)
