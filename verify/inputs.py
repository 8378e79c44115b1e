"""Reads the files that the options of `verify` name."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from profiles import markers, profile
from profiles.check import check_profile
from web import strict_json
from web.documents import explain_errors
from web.files import read_user_file
from web.validation import require_valid

from .options import VerifyOptions
from .seen.hints import Hints


@dataclass(frozen=True)
class Inputs:
    """The contents of the files. `known` are patterns of accepted findings: `drift: /list/*`."""

    hints: Hints
    known: Sequence[str] = ()


def read_inputs(options: VerifyOptions) -> Inputs:
    """Read the files. Raises `ValueError` with the errors, and `OSError`."""
    like = read_skeleton(options.like) if options.like else None
    request = like.request.value if like and like.request.is_own else None
    if options.body:
        request = read_request(options.body)
    hints = Hints(deployment=options.deployment or "", request=request, profile=like)
    known = read_known(options.known) if options.known else []
    return Inputs(hints, known)


def read_skeleton(path: Path) -> profile.Profile:
    """Read a profile, or the part of a profile that names places: `{"list": {"body": [...]}}`.

    It may lack the day, the statuses and the body of a creation. Raises `ValueError` with all
    errors and their places.
    """
    with explain_errors(path):
        _, document = strict_json.parse_json(read_user_file(path), profile.DEPTH)
        if isinstance(document, dict):
            document = {"observed_at": f"{datetime.now(UTC):%Y-%m-%d}", **document}
        if isinstance(document, dict) and isinstance(document.get("create"), dict):
            document["create"] = {"body": {}, **document["create"]}
        errors = check_profile(document)
        if errors and isinstance(document, dict) and "statuses" not in document:
            errors = check_profile({**document, "statuses": {"run": ["any"]}})
        require_valid(errors)
        return profile.Profile(document, path.name)


def read_known(path: Path) -> list[str]:
    """Read patterns of known findings, a line for a pattern; the reason follows a ` # `."""
    text = read_user_file(path).decode(errors="replace")
    patterns = [re.sub(r"(^|\s)#(\s.*|$)", "", line).strip() for line in text.splitlines()]
    return [pattern for pattern in patterns if pattern]


def read_request(path: Path) -> dict[str, Any]:
    """Read the body of a creation, and replace the text "{name}" by the marker of the name.

    Raises `ValueError` with the error, and `OSError`.
    """
    try:
        _, document = strict_json.parse_json(read_user_file(path))
    except strict_json.MalformedJSON as error:
        raise ValueError(f"{path}: {error}") from None
    text = json.dumps(document)
    request: dict[str, Any] = json.loads(text.replace('"{name}"', f'"{markers.NAME}"'))
    places = markers.find_name_paths(request)
    is_once = text.count("{name}") == 1 and len(places) == 1
    if not is_once or places == [()]:
        raise ValueError(f'{path}: must have the text "{{name}}" once, and not in an array')
    return request


def check_save(options: VerifyOptions) -> None:
    """Raise `ValueError` if --save would replace a file that is not a profile."""
    if not options.save or not options.save.is_file() or options.force:
        return
    try:
        profile.read_profile(options.save)
    except ValueError as error:
        raise ValueError(f"only --force replaces a file that is not a profile:\n{error}") from None
