"""Leaves out exchanges that show nothing new, like most of the requests of a client that polls."""

from collections.abc import Hashable
from dataclasses import replace

from .service_log import Log, ServiceExchange


def leave_out_repeats(log: Log) -> Log:
    """Leave out repeated exchanges, further pages of the list, and 304; remarks name the last two.

    With queries, it keeps the lists without a query, or else those with the first query.
    """
    remarks = dict.fromkeys(log.remarks)
    kept = [each for each in log.exchanges if each.status != 304]
    if len(kept) < len(log.exchanges):
        remarks["responses 304 were left out: they have no body"] = None
    lists = [each for each in kept if each.is_list and each.is_success]
    queries = [each.query for each in lists]
    if len({*queries}) > 1:
        query = "" if "" in queries else queries[0]
        pages = {each for each in lists if each.query != query}
        kept = [each for each in kept if each not in pages]
        remark = "further pages of the list, and lists with a different query, were left out"
        remarks[remark] = None
    return replace(log, exchanges=tuple(drop_repeats(kept)), remarks=tuple(remarks))


def drop_repeats(exchanges: list[ServiceExchange]) -> list[ServiceExchange]:
    """Keep the first and the last of equal exchanges in a row.

    A different response to the same request ends the row. A list also ends its row when a
    deployment has changed: it shows what belongs to the new status, even if it stays the same.
    """
    responses: dict[Hashable, Hashable] = {}  # key: the request
    last: dict[Hashable, ServiceExchange] = {}  # the end of the row, key: the request
    dropped: set[ServiceExchange] = set()
    changes = 0  # different responses for deployments
    for exchange in exchanges:
        request = (exchange.method, exchange.target, exchange.token, exchange.request_body)
        response: Hashable = (exchange.status, exchange.failure, exchange.response_body)
        if exchange.is_list:
            response = (response, changes)
        if request not in responses or responses[request] != response:
            responses[request] = response
            last.pop(request, None)
            if exchange.is_deployment:
                changes += 1
            continue
        if request in last:
            dropped.add(last[request])
        last[request] = exchange
    return [each for each in exchanges if each not in dropped]
