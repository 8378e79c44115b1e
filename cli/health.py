"""The health check: `app.py health` asks the running program whether it is ready."""

from http.client import HTTPException
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, build_opener

import click

from .options import OPTIONS, Settings

TIMEOUT = 5.0  # seconds, to find the address and to read the response


@click.pass_context
def check_health(context: click.Context, /, **values: Any) -> None:
    """Ask the program that runs on this machine whether it is ready.

    The options are those with which it was started. The exit status is 0 if it is ready, else 1,
    after at most 5 seconds.
    """
    assert context.parent
    own = {
        name: value
        for name, value in values.items()
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
    }
    settings = Settings(**{**context.parent.params, **own})
    if settings.port == 0:
        raise click.ClickException("port 0 is any free one: give the one that the program printed.")
    results: SimpleQueue[str] = SimpleQueue()
    # In a thread, as a timeout of the connection would begin anew with each byte.
    Thread(target=lambda: results.put(ask(settings)), daemon=True).start()
    try:
        error = results.get(timeout=TIMEOUT)
    except Empty:
        error = f"no response in {TIMEOUT:.0f} seconds"
    if error:
        where = f"host {settings.host}, port {settings.port}"
        raise click.ClickException(f"{where}: {' '.join(error.split())}")
    click.echo("ready")


health_command = click.Command(
    "health",
    params=[OPTIONS[name] for name in ("port", "no_stub", "host")],
    callback=check_health,
    help=check_health.__doc__,
    short_help="Ask the running program whether it is ready.",
)


def ask(settings: Settings) -> str:
    """Why the program is not ready; empty if it is."""
    path = "/openapi.json" if settings.no_stub else "/_stub/ready"
    try:
        url = settings.reachable_url(settings.port)
        build_opener(ProxyHandler({})).open(url + path).read()
    except HTTPError as error:
        text = error.read()[:300].decode(errors="replace")
        return f"GET {path} responds with {error.code}: {text}"
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        reason = getattr(reason, "strerror", None) or reason
        return f"{reason}. Does the program run with this --host and --port?"
    return ""
