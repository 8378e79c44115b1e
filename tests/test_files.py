"""What is read of a file that an option names: see also tests/cli/test_files.py."""

import os
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest

from web.files import MAX_BYTES, content_of


def test_a_byte_order_mark_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("\ufeff\ufeff", "utf-8")
    assert content_of(file).decode() == "\ufeff"


@pytest.mark.parametrize("name", ["/dev/fd/{}", "/proc/self/fd/{}"])
def test_a_pipe_of_a_shell_is_read_to_its_end(name: str) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading), os.fdopen(writing, "w") as pipe:
        pipe.write("text")
        pipe.close()
        assert content_of(Path(name.format(reading))) == b"text"


def test_a_pipe_without_an_end_is_read_to_the_bound() -> None:
    reading, writing = os.pipe()

    def write() -> None:
        with suppress(BrokenPipeError), os.fdopen(writing, "wb", buffering=0) as pipe:
            while True:
                pipe.write(1024 * 1024 * b" ")

    writer = Thread(target=write)
    writer.start()
    with os.fdopen(reading), pytest.raises(OSError, match="over 64 MiB"):
        content_of(Path(f"/dev/fd/{reading}"))
    writer.join()


def test_what_may_have_no_end_or_no_writer_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("fifo")
    for name in ("/dev/zero", "fifo", "link"):
        with pytest.raises(OSError, match="neither a regular file nor a pipe of a shell") as caught:
            content_of(tmp_path / name)  # a device is where it is
        assert caught.value.filename == str(tmp_path / name)
    with pytest.raises(IsADirectoryError):
        content_of(tmp_path)


def test_the_size_of_a_file_is_bounded(tmp_path: Path) -> None:
    file = tmp_path / "file"
    with file.open("wb") as sparse:
        sparse.truncate(MAX_BYTES)
        assert len(content_of(file)) == MAX_BYTES
        sparse.truncate(MAX_BYTES + 1)
    with pytest.raises(OSError, match="over 64 MiB"):
        content_of(file)
