"""Builds `dist/stub.pyz`: the wheel and its dependencies in one file that any Python 3.10 runs.

The start is tools/start_pyz.py. That of shiv runs a folder of the cache without a look at what is
in it, and runs nothing where it can write no folder.
"""

import os
import shutil
import subprocess
import sys
import zipapp
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
PIP = (sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-compile")
LEFT_OUT = {".so", ".pyd", ".c", ".pyi"}  # compiled modules have a pure form
OF_INSTALLATION = {"RECORD", "INSTALLER", "REQUESTED", "WHEEL", "direct_url.json"}
TIME = 315_619_200  # 1980-01-02, which a zip file can hold in any time zone


def build(target: Path, pip: Sequence[str] = PIP) -> None:
    """Write the file whole or not at all. Raises CalledProcessError if pip installs nothing."""
    with TemporaryDirectory() as folder:
        subprocess.run([*pip, "--target", folder, str(ROOT)], check=True)
        shutil.rmtree(Path(folder, "bin"), ignore_errors=True)
        main = Path(folder, "__main__.py")
        shutil.copy(ROOT / "tools" / "start_pyz.py", main)
        digest = sha256()
        for path in sorted(Path(folder).rglob("*")):
            if path.suffix in LEFT_OUT or path.name in OF_INSTALLATION:
                path.unlink()
            elif path.is_file():
                digest.update(repr((str(path.relative_to(folder)), path.read_bytes())).encode())
        main.write_text(main.read_text("utf-8").replace("CONTENT", digest.hexdigest()), "utf-8")
        for path in Path(folder).rglob("*"):
            os.utime(path, (TIME, TIME))
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_name(f"{target.name}.{os.getpid()}")
        zipapp.create_archive(folder, unfinished, "/usr/bin/env python3", compressed=True)
        unfinished.chmod(0o755)
        unfinished.replace(target)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if sys.argv[1:] else ROOT / "dist" / "stub.pyz"
    build(target)
    print(target)
