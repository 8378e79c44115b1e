"""The start of stub.pyz: unpacks it into the user's cache, once, and runs it there.

Python would compile the modules of a zip file at each start.
"""

import os
import stat
import sys
import zlib
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

if sys.version_info < (3, 10):  # noqa: UP036
    version = "%d.%d" % sys.version_info[:2]  # noqa: UP031
    sys.stderr.write("error: this is Python " + version + ": run the file with 3.10 or newer\n")
    sys.exit(2)


POSIX = os.name == "posix"


def cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ["LOCALAPPDATA"])
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    xdg = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return xdg if xdg.is_absolute() else Path.home() / ".cache"


def is_ours(folder: Path) -> bool:
    """Whether no other user can write to a folder."""
    found = folder.lstat()
    is_private = found.st_uid == os.geteuid() and not found.st_mode & 0o022 if POSIX else True
    return stat.S_ISDIR(found.st_mode) and is_private


def is_whole(folder: Path, archive: ZipFile) -> bool:
    """Whether a folder is ours, and each file of the archive is in it as it is in the archive."""
    files = [each for each in archive.infolist() if not each.is_dir()]
    with suppress(OSError):
        return is_ours(folder) and all(
            zlib.crc32((folder / each.filename).read_bytes()) == each.CRC for each in files
        )
    return False


def unpacked(archive: ZipFile) -> Path:
    """The folder of this content. Raises OSError, KeyError or RuntimeError if there can be none."""
    base = cache() / "deployment-stub"
    base.mkdir(0o700, parents=True, exist_ok=True)
    folder = base / "CONTENT"
    if not is_ours(base):
        raise OSError(base)
    if not is_whole(folder, archive):
        with TemporaryDirectory(dir=base, ignore_cleanup_errors=True) as beside:
            new = Path(beside, "new")
            new.mkdir(0o700)
            archive.extractall(new)
            with suppress(OSError):  # another start is quicker
                if folder.exists() and not is_whole(folder, archive):
                    folder.rename(Path(beside, "spoilt"))
                new.rename(folder)
                return folder
        if not is_whole(folder, archive):
            raise OSError(folder)
    return folder


# Otherwise it runs in the archive.
with suppress(OSError, KeyError, RuntimeError), ZipFile(sys.path[0]) as archive:
    sys.path[0] = str(unpacked(archive))
    sys.dont_write_bytecode = False  # the next start finds it there

from deployment_stub.__main__ import main  # noqa: E402

sys.exit(main())
