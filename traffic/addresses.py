"""Recognizes the addresses of this machine."""

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine, such as `localhost`, `127.0.0.1` and `[::1]`.

    Also `a.localhost` and `::ffff:127.0.0.1` are this machine.
    """
    name = host.strip("[]").rstrip(".").lower().removeprefix("::ffff:")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False
