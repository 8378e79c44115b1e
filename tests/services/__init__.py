"""Profiles of services, as a person writes them from their documentation."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
DOCUMENTS: dict[str, Any] = {
    path.stem: json.loads(path.read_text("utf-8")) for path in sorted(FOLDER.glob("*.json"))
}
"""By name."""
