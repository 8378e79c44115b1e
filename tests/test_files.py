"""What is read of a file that an option names: see also tests/cli/test_files.py."""

import os
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from web.files import MAX_BYTES, content_of

NEITHER = "neither a regular file nor a pipe of a shell"


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


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/null", "/dev/full", "fifo", "link"])
def test_a_device_or_a_pipe_that_nobody_has_opened_is_no_file(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("fifo")
    path = tmp_path / name  # a device is where it is
    with pytest.raises(OSError, match=NEITHER) as caught:
        content_of(path)
    assert caught.value.filename == str(path)


def test_a_folder_is_no_file_and_the_size_of_one_is_bounded(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        content_of(tmp_path)
    file = tmp_path / "file"
    with file.open("wb") as sparse:
        sparse.truncate(MAX_BYTES)
        assert len(content_of(file)) == MAX_BYTES
        sparse.truncate(MAX_BYTES + 1)
    with pytest.raises(OSError, match="over 64 MiB") as caught:
        content_of(file)
    assert caught.value.filename == str(file)


def test_a_pipe_without_an_end_is_read_to_the_bound() -> None:
    reading, writing = os.pipe()

    def write() -> None:
        with suppress(BrokenPipeError), os.fdopen(writing, "wb", buffering=0) as pipe:
            while True:
                pipe.write(1024 * 1024 * b" ")

    writer = threading.Thread(target=write)
    writer.start()
    with os.fdopen(reading), pytest.raises(OSError, match="over 64 MiB"):
        content_of(Path(f"/dev/fd/{reading}"))
    writer.join()
