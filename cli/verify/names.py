"""Names of members in camelCase, and the order of projects."""

import re
from collections.abc import Iterable
from typing import Any

from stub.rules import parse_time

OLDEST, NEWEST = "oldest first", "newest first"


def in_snake_case(record: dict[str, Any]) -> dict[str, Any]:
    """The record with its members in snake_case, too; a member that has such a name stays."""
    return {re.sub("(?<=[a-z0-9])[A-Z]", r"_\g<0>", x).lower(): record[x] for x in record} | record


def order_of(projects: Iterable[dict[str, Any]]) -> str | None:
    """The order of projects, "" if it is another one, None if their times do not tell."""
    created = (in_snake_case(each).get("created_at") for each in projects)
    times = [*filter(None, map(parse_time, created))]
    orders = {(*sorted(times, reverse=True),): NEWEST, (*sorted(times),): OLDEST}
    return orders.get((*times,), "") if len(orders) > 1 else None
