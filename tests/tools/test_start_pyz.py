"""The start of the one file, before the program itself: see also test_build_pyz.py."""

from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.conftest import ROOT
from tests.program import finished

pytestmark = pytest.mark.process

INTERRUPTED = "import os, signal; os.kill(os.getpid(), signal.SIGINT)"


@pytest.mark.parametrize("name", ["tempfile.py", "deployment_stub/__main__.py"])
def test_ctrl_c_before_the_program_ends_quietly_and_leaves_nothing(
    tmp_path: Path, name: str
) -> None:
    file, modules, cache = tmp_path / "stub.pyz", tmp_path / "modules", tmp_path / "cache"
    with ZipFile(file, "w") as archive:
        archive.write(ROOT / "tools" / "start_pyz.py", "__main__.py")
    module = modules / name
    module.parent.mkdir(parents=True)
    module.write_text(INTERRUPTED)
    done = finished("-S", str(file), env={"PYTHONPATH": str(modules), "XDG_CACHE_HOME": str(cache)})
    assert (done.status, done.stderr) == (130, "")
    assert [*cache.rglob("tmp*")] == []
