"""The control routes under `/_stub`. stub/openapi.json has their paths and bodies."""
