"""What of a recording is looked at.

A client that polls for hours shows no more than its changes, and one that pages no more than the
first page.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable
from dataclasses import replace
from typing import NamedTuple

from .exchange import Exchange, Log

MAX_OF_A_KIND = 100
MAX_EXCHANGES = 2000  # their inference compares each with the others
MAX_BYTES = 64 * 1024 * 1024  # of bodies
LONG = "of a long recording the first and the last exchanges of a kind were looked at"
PAGES = "lists with another query than the first one, such as other pages, were left out"
UNCHANGED = "responses that are 304 were left out: they have no body"


def shortened(log: Log) -> Log:
    """The log with the first and the last of equal exchanges in a row, no matter how many.

    It has a remark for each other reason for which exchanges were left out.
    """
    remarks = dict.fromkeys(log.remarks)
    kept = [each for each in log.exchanges if each.status != 304]
    if len(kept) < len(log.exchanges):
        remarks[UNCHANGED] = None
    count = len(kept)
    kept = without_other_pages(kept)
    if len(kept) < count:
        remarks[PAGES] = None
    kept = without_all_repeats(kept)
    count = len(kept)
    kept = ends_of_each_kind(kept)
    kept = ends(kept, MAX_EXCHANGES)
    kept = within_bytes(kept)
    if len(kept) < count:
        remarks[LONG] = None
    return replace(log, exchanges=tuple(kept), remarks=tuple(remarks))


def without_other_pages(exchanges: list[Exchange]) -> list[Exchange]:
    """Of several lists those without a query count, else those with the first one's."""
    lists = [each for each in exchanges if each.is_list and each.is_success]
    queries = [each.query for each in lists]
    if not queries:
        return exchanges
    query = "" if "" in queries else queries[0]
    others = {each for each in lists if each.query != query}
    return [each for each in exchanges if each not in others]


def without_all_repeats(exchanges: list[Exchange]) -> list[Exchange]:
    kept = without_repeats(exchanges, content_of)
    counts = Counter(map(kind_of, kept))
    frequent = {kind for kind, count in counts.items() if count > MAX_OF_A_KIND}

    def response_of(exchange: Exchange) -> Hashable:
        """Without numbers in responses that often differ: such as those that have the time."""
        is_frequent = kind_of(exchange) in frequent
        return without_numbers(exchange) if is_frequent else content_of(exchange)

    return without_repeats(kept, response_of) if frequent else kept


def without_repeats(
    exchanges: Collection[Exchange], response_of: Callable[[Exchange], Hashable]
) -> list[Exchange]:
    """The first and the last of those in a row that have the same request and response.

    In a row are those between which no other response to the same request stands, and for lists no
    other one of a deployment: a list shows what belongs to a status, also if it stays the same.
    """
    rows: dict[Hashable, Row] = {}
    left_out: set[Exchange] = set()
    changes = 0  # of deployments
    for exchange in exchanges:
        request = (exchange.method, exchange.target, exchange.token, exchange.body)
        response = response_of(exchange)
        if exchange.is_list:
            response = (response, changes)
        row = rows.get(request)
        if row is None or row.response != response:
            rows[request] = Row(response)
            if exchange.is_deployment:
                changes += 1
            continue
        if row.last:
            left_out.add(row.last)
        rows[request] = Row(response, exchange)
    return [each for each in exchanges if each not in left_out]


class Row(NamedTuple):
    """Equal responses in a row; there is no last one yet of a single one."""

    response: Hashable
    last: Exchange | None = None


def content_of(exchange: Exchange) -> Hashable:
    return exchange.status, exchange.failure, exchange.content


def without_numbers(exchange: Exchange) -> Hashable:
    return exchange.status, exchange.failure, re.sub(rb"\d+", b"0", exchange.content)


def kind_of(exchange: Exchange) -> Hashable:
    return exchange.method, exchange.path, exchange.status


def ends_of_each_kind(exchanges: list[Exchange]) -> list[Exchange]:
    by_kind: dict[Hashable, list[Exchange]] = defaultdict(list)
    for exchange in exchanges:
        by_kind[kind_of(exchange)].append(exchange)
    kept: set[Exchange] = set()
    for found in by_kind.values():
        kept.update(ends(found, MAX_OF_A_KIND))
    return [each for each in exchanges if each in kept]


def ends(exchanges: list[Exchange], most: int) -> list[Exchange]:
    """As many of the first ones as of the last ones, if there are more than `most`."""
    if len(exchanges) <= most:
        return exchanges
    return exchanges[: most // 2] + exchanges[-(most // 2) :]


def within_bytes(exchanges: list[Exchange]) -> list[Exchange]:
    """The first ones and the last ones whose bodies have so many bytes."""
    while size_of(exchanges) > MAX_BYTES:
        exchanges = ends(exchanges, len(exchanges) - 2)
    return exchanges


def size_of(exchanges: Collection[Exchange]) -> int:
    """The bytes of their bodies."""
    return sum(len(each.body) + len(each.content) for each in exchanges)
