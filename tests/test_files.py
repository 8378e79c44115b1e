"""What is read of a file that an option names: see also tests/cli/test_files.py."""

import os
from pathlib import Path

from web.files import read_user_file


def test_a_byte_order_mark_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("\ufeff\ufeff", "utf-8")
    assert read_user_file(file).decode() == "\ufeff"


def test_a_pipe_of_a_shell_is_read_to_its_end() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading), os.fdopen(writing, "w") as pipe:
        pipe.write("text")
        pipe.close()
        assert read_user_file(Path(f"/dev/fd/{reading}")) == b"text"
