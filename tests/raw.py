"""Raw requests, as bytes."""

SECRET = "tok-5ecret"
AUTHORIZATION = f"Authorization: Bearer {SECRET}"


def get(target: str = "/", *fields: str, version: str = "1.1", method: str = "GET") -> bytes:
    """A request without a body; without fields it has a Host."""
    lines = [f"{method} {target} HTTP/{version}", *(fields or ("Host: localhost",)), "", ""]
    return "\r\n".join(lines).encode("latin-1")


def post(*fields: str, body: bytes = b"", version: str = "1.1") -> bytes:
    """A POST request with a Host, these fields, and the body as it is."""
    return get("/", "Host: localhost", *fields, version=version, method="POST") + body
