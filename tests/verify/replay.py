"""Sends the requests of a log to a stub with its profile, and compares the responses."""

import json
from typing import Any

from flask.testing import FlaskClient

from profiles.profile import Profile, make_profile
from tests.profiles.conftest import client_of, like
from verify.seen.places import Places
from verify.seen.service_log import DEPLOYMENTS, Log, ServiceExchange

Outcome = tuple[int, Any]  # status and shape of the body


def find_differences(document: Any, log: Log, places: Places) -> list[str]:
    """Find the requests that get a different status or shape of the body from the stub."""
    profile = make_profile(document)
    client = client_of(like(profile))
    found = []
    for exchange in log.exchanges:
        body = exchange.response_json if exchange.response_body else None
        expected = exchange.status, describe_shape(body)
        seen = ask(client, profile, places, exchange)
        if seen != expected:
            found.append(f"{exchange.purpose}: {expected} became {seen}")
    return found


def ask(
    client: FlaskClient, profile: Profile, places: Places, exchange: ServiceExchange
) -> Outcome:
    """The response of the stub to the same request, in the same status of the deployment."""
    own_id = find_deployment_id(client, places.created_name)
    word = places.read_status(exchange) if exchange in places.followed else ""
    if word:
        client.put(f"/_stub/deployments/{own_id}", json={"status": word})
    target = exchange.target
    if exchange in places.followed:
        target = f"{DEPLOYMENTS}{own_id}"
    headers = {}
    if exchange.purpose.endswith("with a wrong token"):
        headers["Authorization"] = "Bearer wrong"
    elif exchange.purpose.endswith("without a token"):
        headers["Authorization"] = ""
    response = client.open(
        target,
        method=exchange.method,
        data=exchange.request_body or None,
        content_type=profile.request_type if exchange.request_body else None,
        headers=headers,
    )
    body = response.get_json(force=True) if response.data else None
    return response.status_code, describe_shape(body)


def find_deployment_id(client: FlaskClient, name: str) -> str:
    """Find the id of the deployment of the created project, "" before it exists."""
    projects = client.get("/_stub/console").json["projects"]["newest"]
    own = [each for each in projects if name in json.dumps(each)]
    return str(own[0]["deployment"]) if own else ""


def describe_shape(value: Any) -> Any:
    """Describe the types of a value, of arrays by an item: `{"id": "str", "tags": ["str"]}`."""
    if isinstance(value, dict):
        return {name: describe_shape(each) for name, each in value.items()}
    if isinstance(value, list):
        return [describe_shape(value[-1])] if value else []
    if value is None or isinstance(value, bool | str):
        return type(value).__name__
    return "number"
