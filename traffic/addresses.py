"""Which hosts are this machine."""

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Return whether a name or an address is that of this machine: `localhost`, `a.localhost`,
    `127.0.0.1`, `[::1]`, `::ffff:127.0.0.1`.
    """
    name = host.strip("[]").rstrip(".").lower().removeprefix("::ffff:")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False
