"""Names and addresses of loopback."""

from traffic.addresses import is_loopback

HERE = ["localhost", "LOCALHOST.", "app.localhost", "127.0.0.1", "127.8.0.1", "::1", "[::1]"]
HERE += ["::ffff:127.0.0.1", "0:0:0:0:0:0:0:1"]
ELSEWHERE = ["", "localhost.example", "mylocalhost", "127.0.0.1.example", "10.0.0.1", "::"]
ELSEWHERE += ["0.0.0.0", "127.0.0.1:80", "::ffff:10.0.0.1"]


def test_loopback_has_names_and_addresses() -> None:
    for host in HERE:
        assert is_loopback(host), host
    for host in ELSEWHERE:
        assert not is_loopback(host), host
