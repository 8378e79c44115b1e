"""Gets the exchanges with a service.

- `script`: the session of `verify URL`; `client` sends its requests.
- `har`: a HAR file.
- `record`: a proxy for the requests of a command; `streams` passes on responses of unknown length.
"""
