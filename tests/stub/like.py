"""A profile that differs from the stub in every form."""

from typing import Any

LIKE: Any = {
    "observed_at": "2026-11-24",
    "ids": {
        "projects": {"prefix": "proj_", "alphabet": ["0-9", "A-Z"], "shortest": 20, "longest": 22},
        "deployments": {"prefix": "", "alphabet": ["-", "0-9", "a-f"],
                        "shortest": 36, "longest": 36},
    },
    "times": {"offset": "+01:00", "digits": 6, "case": "upper"},
    "creation_status": 202,
    "list_order": "newest first",
    "statuses": {"run": ["PENDING", "RUNNING", "DONE"], "ended": "DONE"},
    "members": {
        "project": {"added": {"owner": "string", "tags": "array"}, "absent": ["created_at"]},
        "deployment": {"added": {"url": "null"}, "absent": ["project_id"]},
    },
    "headers": ["X-Request-Id"],
    "media_types": {"json": "application/vnd.api+json; charset=utf-8", "problem": "text/json"},
    "not_imitated": [{"part": "#/components/schemas/Problem", "what": "an envelope"}],
}  # fmt: skip
