"""Finds a deployment, its project and its status."""

from collections import defaultdict
from dataclasses import replace
from typing import Any

from . import candidates, inspection, kinds, status
from .hints import Hints
from .places import Places
from .service_log import ServiceExchange


def find_candidates(places: Places, hints: Hints) -> list[candidates.Candidate]:
    """Find the values that may be the id of the created deployment, the likeliest first.

    Without a created project, they are those of listed projects.
    """
    in_item = hints.find_place_in_item(places.items_path, "deployment.id")
    if places.creation is None:
        items = places.last_items
        own_id = places.find_id(inspection.get_first(items))
        return candidates.find_in_bodies(items, "", own_id, [in_item])
    bodies = [places.created, places.latest_item]
    location = places.creation.find_response_field("Location") or ""
    hinted = [hints.find_place("create", "deployment.id"), in_item]
    found = candidates.find_in_bodies(bodies, location, places.created_id, hinted)
    earlier = [each for each in places.lists if each.sent_at < places.creation.sent_at]
    items = [item for exchange in earlier for item in places.list_items(exchange)]
    earlier_values = {str(leaf) for _, leaf in inspection.list_leaves(items)}
    return [each for each in found if each.id not in earlier_values]


def add_deployment(places: Places, reads: list[ServiceExchange], hints: Hints) -> Places:
    """Add the reads of a deployment: the named, the created, or the first that was read.

    Its id is a number if a body has it as a number.
    """
    by_id: dict[str, list[ServiceExchange]] = defaultdict(list)
    for exchange in reads:
        by_id[exchange.deployment_id].append(exchange)
    if not by_id:
        return places
    created = find_created_deployment(places, by_id, hints)
    named = hints.deployment if hints.deployment in by_id else None
    chosen = named or created or reads[0].deployment_id
    body = by_id[chosen][-1].body
    if chosen == created:
        owner_id, owner_name = places.created_id, places.created_name
        bodies = [body, places.latest_item, places.created]
    else:
        owner_id, owner_name = find_owner(places, chosen, body)
        bodies = [body]
    values = [value for each in bodies for _, value in inspection.list_leaves(each)]
    is_integer = any(type(value) is int and str(value) == chosen for value in values)
    return replace(
        places,
        followed=tuple(by_id[chosen]),
        is_own=chosen in (named, created),
        deployment_id=int(chosen) if is_integer else chosen,
        owner_id=owner_id,
        owner_name=owner_name,
    )


def find_created_deployment(
    places: Places, by_id: dict[str, list[ServiceExchange]], hints: Hints
) -> str | None:
    """Find the id of the created deployment among those that were read.

    It is a candidate, or its body has the id or the name of the created project.
    """
    if places.creation is None:
        return None
    for candidate in find_candidates(places, hints):
        if candidate.id in by_id:
            return candidate.id
    known = filter(inspection.is_id, (places.created_id, places.created_name))
    own = set(map(str, known))
    for deployment_id, exchanges in by_id.items():
        values = {str(value) for _, value in inspection.list_leaves(exchanges[-1].body)}
        if own & values:
            return deployment_id
    return None


def find_owner(places: Places, deployment_id: str, body: Any) -> tuple[Any, str]:
    """Find the id and the name of the listed project of a deployment: `("prj_1", "shop")`.

    The body has them, or the project has the id of the deployment. Else they are None and "".
    """
    values = {str(value) for _, value in inspection.list_leaves(body) if inspection.is_id(value)}
    for item in places.last_items:
        item_id, name = places.find_id(item), places.find_name(item)
        own = {str(item_id), name} - {"None", ""}
        if own & values or candidates.has_deployment(item, deployment_id):
            return item_id, name
    return None, ""


def add_status(places: Places, hints: Hints) -> Places:
    """Add the path of the status in the deployment."""
    bodies = [exchange.body for exchange in places.followed]
    if not bodies:
        return places
    hinted, absent = hints.find_status()
    if hinted is not None:
        return replace(places, status_path=hinted, absent_status=absent, is_sure=True)
    found, is_sure = status.find_status(bodies)
    if len(found) == 1:
        return replace(places, status_path=found[0], is_sure=is_sure)
    possible = found or [path for path, _ in inspection.list_leaves(bodies[-1])]
    line = '"deployment": {"body": {"MEMBER": "{deployment.status}"}}'
    if any(isinstance(inspection.find_value(bodies[-1], path), bool) for path in possible):
        choice = '{"{deployment.status}": {"true": true, "false": false}}'
        line += f", or for a boolean {choice} in place of the marker"
    return places.add_doubt(kinds.DEPLOYMENT, line, possible, bodies[-1])
