"""Which texts are times, and what they are in UTC."""

from web.times import parse_time

TIMES = [
    ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59.999000+00:00"),  # a leap second
    ("2016-12-31t15:59:60.5-08:00", "2016-12-31T23:59:59.999000+00:00"),
    ("2017-01-01T05:29:60+05:30", "2016-12-31T23:59:59.999000+00:00"),
    ("2016-12-31T23:59:59.1239Z", "2016-12-31T23:59:59.123000+00:00"),
]
NO_TIMES = (
    "2016-12-31T23:58:60Z", "2016-12-31T22:59:60Z", "2016-12-31T23:59:60+01:00",
    "2016-12-31T23:59:61Z", "2016-12-31T23:60:60Z", "0001-01-01T13:59:60+14:00",
)  # fmt: skip


def test_a_leap_second_is_the_end_of_its_minute() -> None:
    for text, utc in TIMES:
        moment = parse_time(text)
        assert moment
        assert moment.isoformat() == utc


def test_what_is_no_leap_second_is_no_time() -> None:
    assert not [text for text in NO_TIMES if parse_time(text)]
