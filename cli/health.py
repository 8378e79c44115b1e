"""The health check: `app.py health` asks the running program whether it is ready."""

from http.client import HTTPException
from typing import Any

import click

from .options import OPTIONS, Settings, invalid

TIMEOUT = 5.0  # seconds that the program may be silent


@click.command(
    "health",
    params=[OPTIONS[name] for name in ("port", "host")],
    short_help="Ask the running program whether it is ready.",
)
def health(**values: Any) -> None:
    """Ask the program that runs on this machine whether it is ready.

    The options are those with which it was started. The exit status is 0 if it is ready, else 1,
    after 5 seconds without a response.
    """
    from urllib.error import HTTPError, URLError  # no other command needs these
    from urllib.request import ProxyHandler, build_opener

    from verify.client import failure_of

    settings = Settings(**values)
    if not settings.host:
        raise invalid("host", "give a host name or an IP address.")
    path = "/_stub/ready"
    try:
        url = settings.reachable_url(settings.port) + path
        build_opener(ProxyHandler({})).open(url, timeout=TIMEOUT).close()
    except (OSError, HTTPException) as error:
        cause = error.reason if isinstance(error, URLError) else error
        reason = failure_of(cause) if isinstance(cause, Exception) else cause
        if isinstance(error, HTTPError):
            body = error.read()
            reason = f"{error} {body[:300].decode(errors='replace')}"
        words = f"host {settings.host}, port {settings.port}: GET {path}: {reason}".split()
        line = " ".join(words)
        raise click.ClickException(f"{line}. Does the program run with these options?") from None
    click.echo("ready")
