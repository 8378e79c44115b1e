"""Builds `dist/stub.pyz`: the wheel and what it needs.

A file of shiv runs what somebody changed in its cache, and ends with a traceback where it has none.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from zipapp import create_archive

ROOT = Path(__file__).resolve().parent.parent
PIP = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-compile"]
LEFT_OUT = ["bin", "*.so", "*.pyd", "*.c", "*.pyi"]  # pure code stays
LEFT_OUT += ["direct_url.json", "RECORD", "INSTALLER", "REQUESTED", "WHEEL"]  # of pip


def build(target: Path) -> None:
    """Write the file whole or not at all."""
    target.parent.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=target.parent) as folder:
        tree, file = Path(folder, "tree"), Path(folder, "stub.pyz")
        subprocess.run([*PIP, "--target", str(tree), str(ROOT)], check=True)
        shutil.copy(ROOT / "tools" / "start_pyz.py", tree / "__main__.py")
        for pattern in LEFT_OUT:
            for path in list(tree.rglob(pattern)):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        # So that two builds have the same bytes. A zip file has local times, from 1980 on.
        modified = time.mktime((1980, 1, 1, 0, 0, 0, 0, 1, -1))
        for path in tree.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
            os.utime(path, (modified, modified))
        create_archive(tree, file, "/usr/bin/env python3", compressed=True)
        file.chmod(0o755)
        file.replace(target)


if __name__ == "__main__":
    build(ROOT / "dist" / "stub.pyz")
