"""The routes under `/_stub`, whose paths and bodies stub/openapi.json declares."""
