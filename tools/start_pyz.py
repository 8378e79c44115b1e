"""The start of stub.pyz: unpacks it once into the user's cache, where Python keeps the bytecode."""

# ruff: noqa: E402
import os
import signal
import sys

interrupt = signal.getsignal(signal.SIGINT)
if interrupt is signal.default_int_handler:  # a traceback of these imports helps nobody
    signal.signal(signal.SIGINT, lambda number, frame: os._exit(128 + number))

from contextlib import suppress
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile
from zlib import crc32

CACHES = {"win32": ("LOCALAPPDATA", "~/AppData/Local"), "darwin": ("", "~/Library/Caches")}


def unpacked(content: bytes) -> Path:
    """The folder of this content. Raises OSError or RuntimeError if there can be none.

    A file that is not as in the archive is written beside and renamed: many may do so at once.
    """
    variable, usual = CACHES.get(sys.platform, ("XDG_CACHE_HOME", "~/.cache"))
    cache = Path(os.environ.get(variable, ""))  # a relative one is ignored, as XDG has it
    base = (cache if cache.is_absolute() else Path(usual).expanduser()) / "deployment-stub"
    folder = base / sha256(content).hexdigest()
    for each in (base, folder):
        each.mkdir(0o700, parents=True, exist_ok=True)
        found = each.lstat()
        if os.name == "posix" and (found.st_uid != os.geteuid() or found.st_mode & 0o022):
            raise PermissionError(each)  # another user can write to it
    with ZipFile(BytesIO(content)) as archive, TemporaryDirectory(dir=base) as beside:
        for entry in archive.infolist():
            file = folder / entry.filename
            is_whole = file.is_file() and crc32(file.read_bytes()) == entry.CRC
            if not (is_whole or entry.is_dir()):
                file.parent.mkdir(parents=True, exist_ok=True)
                Path(archive.extract(entry, beside)).replace(file)
    return folder


if interrupt is signal.default_int_handler:
    signal.signal(signal.SIGINT, interrupt)  # so that no half of a file stays
try:
    with suppress(OSError, RuntimeError):  # otherwise it runs in the archive
        sys.path[0] = str(unpacked(Path(sys.path[0]).read_bytes()))
        sys.dont_write_bytecode = False  # the next start finds it there

    from deployment_stub.__main__ import main
except KeyboardInterrupt:
    sys.exit(130)

sys.exit(main())
