"""A client with a mistake: it rejects unknown members."""

import json
import os
import sys
import urllib.request

if "STUB_URL" not in os.environ:
    sys.exit("Run it behind the program: .venv/bin/python app.py -- python3 docs/exact.py")
request = urllib.request.Request(os.environ["STUB_URL"] + "/v1/deployments/dpl_failed")
request.add_header("Authorization", "Bearer " + os.environ["STUB_TOKEN"])
deployment = json.load(urllib.request.urlopen(request))
unknown = set(deployment) - {"id", "project_id", "status", "created_at"}
sys.exit(f"unknown: {sorted(unknown)}" if unknown else 0)
