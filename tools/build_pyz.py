"""Builds `dist/stub.pyz`: the wheel and what it needs, started by tools/start_pyz.py.

shiv checks nothing of what is in the cache, and does not start where it can write none.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from zipapp import create_archive

ROOT = Path(__file__).resolve().parent.parent
PIP = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-compile"]
LEFT_OUT = ["bin", "bin/*", "*.so", "*.pyd", "*.c", "*.pyi", "direct_url.json"]  # pure code stays


def build(target: Path) -> None:
    def is_needed(path: Path) -> bool:
        return not any(map(path.match, LEFT_OUT))

    with TemporaryDirectory() as folder:
        subprocess.run([*PIP, "--target", folder, str(ROOT)], check=True)
        shutil.copy(ROOT / "tools" / "start_pyz.py", Path(folder, "__main__.py"))
        create_archive(folder, target, "/usr/bin/env python3", filter=is_needed, compressed=True)


if __name__ == "__main__":
    target = Path(sys.argv[1] if sys.argv[1:] else ROOT / "dist" / "stub.pyz")
    target.parent.mkdir(exist_ok=True)
    build(target)
    print(target)
