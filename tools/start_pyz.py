"""The start of stub.pyz: unpacks it once into the user's cache, where Python keeps the bytecode."""

import os
import sys
from contextlib import suppress
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile
from zlib import crc32

if sys.version_info < (3, 10):  # noqa: UP036
    sys.exit("error: this Python is too old: run the file with 3.10 or newer")

CACHES = {"win32": ("LOCALAPPDATA", "~/AppData/Local"), "darwin": ("", "~/Library/Caches")}


def unpacked(content: bytes) -> Path:
    """The folder of this content. Raises OSError or RuntimeError if there can be none."""
    variable, usual = CACHES.get(sys.platform, ("XDG_CACHE_HOME", "~/.cache"))
    base = Path(os.environ.get(variable) or usual).expanduser() / "deployment-stub"
    folder = base / sha256(content).hexdigest()
    base.mkdir(0o700, parents=True, exist_ok=True)
    with ZipFile(BytesIO(content)) as archive:
        if not folder.exists():
            with suppress(OSError), TemporaryDirectory(dir=base) as beside:
                archive.extractall(beside)
                Path(beside).rename(folder)  # fails if another start was quicker
        for each in (base, folder):
            found = each.lstat()
            if os.name == "posix" and (found.st_uid != os.geteuid() or found.st_mode & 0o022):
                raise PermissionError(each)  # another user can write to it
        for entry in archive.infolist():
            file = folder / entry.filename
            if not (entry.is_dir() or (file.exists() and crc32(file.read_bytes()) == entry.CRC)):
                with TemporaryDirectory(dir=base) as beside:
                    Path(archive.extract(entry, beside)).replace(file)
    return folder


with suppress(OSError, RuntimeError):  # otherwise it runs in the archive
    sys.path[0] = str(unpacked(Path(sys.path[0]).read_bytes()))
    sys.dont_write_bytecode = False  # the next start finds it there

from deployment_stub.__main__ import main  # noqa: E402

sys.exit(main())
