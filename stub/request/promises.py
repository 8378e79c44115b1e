"""Finds the parts of a request that no document promises, and those that break a rule.

The findings have no secrets.
"""

import json
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qsl
from zlib import crc32

from auth import B64TOKEN
from profiles import openapi
from traffic import masking
from web.validation import format_pointer


def find_unpromised(
    operation: openapi.Operation,
    query: str,
    document: dict[str, Any] | None,
    body: bytes,
    redactor: masking.Redactor,
) -> tuple[str, ...]:
    """Find the parts of a request that are not in the contract.

    For example `listProjects: query parameter page`. `document` is the value of the body. If it is
    None, the body is parsed here.
    """
    found: list[str] = []
    if query:
        # A decoded name has lost the `=` at the end of a token, so it is masked before.
        pairs = parse_qsl(redactor.mask(query), keep_blank_values=True)
        names = dict.fromkeys(name for name, _ in pairs)
        found += [f"{operation.id}: query parameter {name}" for name in names]
    if operation.names:
        sent = parse_object(body) if document is None else document
        unknown = openapi.find_unknown(sent, operation.names)
        found += [f"{operation.id}: body member {'/'.join(map(str, path))}" for path in unknown]
        if operation.expected and (sent or document is not None):  # The body is an object.
            for path in openapi.find_missing(sent, operation.expected):
                place = format_pointer(*path)
                found.append(f"{operation.id}: sent without {place}, which the example has")
    return mask_sentences(found, redactor)


def find_violations(
    operation: openapi.Operation | None,
    rejected: str | None,
    target: str,
    redactor: masking.Redactor,
) -> tuple[str, ...]:
    """Find the rules of the interface (§4, §5, §9) that a request breaks.

    For example `no operation: GET /v2/projects`, with the `target` of the request. `rejected` is a
    rejected Authorization header; it is None if the token is valid.
    """
    found = []
    well_formed = f"Bearer {B64TOKEN.pattern}"
    if rejected is not None and not re.fullmatch(well_formed, rejected):
        name = operation.id if operation else "no operation"
        form = "an Authorization header of another form" if rejected else "no Authorization header"
        found.append(f"{name}: {form}")
    if operation is None:
        found.append(f"no operation: {target}")
    return mask_sentences(found, redactor)


def mask_sentences(sentences: Iterable[str], redactor: masking.Redactor) -> tuple[str, ...]:
    """Mask and shorten sentences."""
    return tuple(shorten(masking.make_printable(redactor.mask(each))) for each in sentences)


def shorten(sentence: str, max_bytes: int = 160) -> str:
    """Cut a long sentence, and add a digest: two sentences may begin alike. It is `…3f2a9c01`."""
    data = sentence.encode()
    if len(data) <= max_bytes:
        return sentence
    return f"{masking.cut_text(sentence, max_bytes)}…{crc32(data):08x}"


def parse_object(body: bytes) -> dict[str, Any]:
    """Parse a JSON object. For any other text it is empty."""
    try:
        document = json.loads(body, parse_int=float)  # int() has a limit on digits.
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
