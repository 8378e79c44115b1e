"""Leaves out what shows nothing new: a client that polls shows no more than what changes."""

from collections.abc import Hashable
from dataclasses import replace
from typing import NamedTuple

from .exchange import Log, ServiceExchange

PAGES = "lists with another query than the first one, such as other pages, were left out"
UNCHANGED = "responses that are 304 were left out: they have no body"


class Row(NamedTuple):
    """Equal responses in a row; there is no last one yet of a single one."""

    response: Hashable
    last: ServiceExchange | None = None


def shorten(log: Log) -> Log:
    """Keep of equal exchanges in a row the first and the last; a remark says what else is gone."""
    remarks = dict.fromkeys(log.remarks)
    kept = [each for each in log.exchanges if each.status != 304]
    if len(kept) < len(log.exchanges):
        remarks[UNCHANGED] = None
    count = len(kept)
    kept = without_other_pages(kept)
    if len(kept) < count:
        remarks[PAGES] = None
    return replace(log, exchanges=tuple(without_repeats(kept)), remarks=tuple(remarks))


def without_other_pages(exchanges: list[ServiceExchange]) -> list[ServiceExchange]:
    """Keep of several good lists those without a query, else those with the first one's."""
    lists = [each for each in exchanges if each.is_list and each.is_success]
    queries = [each.query for each in lists]
    if not queries:
        return exchanges
    query = "" if "" in queries else queries[0]
    others = {each for each in lists if each.query != query}
    return [each for each in exchanges if each not in others]


def without_repeats(exchanges: list[ServiceExchange]) -> list[ServiceExchange]:
    """Keep the first and the last of those in a row that have the same request and response.

    In a row are those between which no other response to the same request stands, and for lists no
    other one of a deployment: a list shows what belongs to a status, also if it stays the same.
    """
    rows: dict[Hashable, Row] = {}
    left_out: set[ServiceExchange] = set()
    changes = 0  # of deployments
    for exchange in exchanges:
        request = (exchange.method, exchange.target, exchange.token, exchange.request_body)
        response: Hashable = (exchange.status, exchange.failure, exchange.response_body)
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
