"""The wheel: the package with its data and nothing else, the same bytes wherever it is built."""

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
COPIED = ("src", "tests", "pyproject.toml", ".gitignore", "LICENSE", "README.md")
METADATA = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}


def build(folder, mode, time):
    """Build a copy of the sources, whose files have this mode and time, where there is no git."""
    folder.mkdir(parents=True)
    for name in COPIED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    for file in (path for path in folder.rglob("*") if path.is_file()):
        file.chmod(mode)
        os.utime(file, (time, time))
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder / "dist"]
    environment = os.environ | {"SOURCE_DATE_EPOCH": "1700000000"}
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    (wheel,) = (folder / "dist").iterdir()
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build(tmp_path_factory.mktemp("wheel") / "sources", 0o644, 1_600_000_000)


def test_it_is_the_same_wherever_and_whenever_it_is_built(tmp_path, wheel):
    again = build(tmp_path / "deeper" / "copy", 0o600, 1_650_000_000)
    one, other = (hashlib.sha256(path.read_bytes()).hexdigest() for path in (wheel, again))
    assert (wheel.name, one) == (again.name, other)


def test_it_holds_the_package_with_its_data_and_nothing_else(wheel):
    files = (path for path in (ROOT / "src").rglob("*") if path.is_file())
    package = {str(p.relative_to(ROOT / "src")) for p in files if "__pycache__" not in p.parts}
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    about = "-".join(wheel.name.split("-")[:2]) + ".dist-info"
    assert names == package | {f"{about}/{name}" for name in METADATA}
    kinds = {Path(name).suffix for name in package - {"dualprune/py.typed"}}
    assert kinds == {".css", ".html", ".js", ".py", ".toml"}
    assert "dualprune/py.typed" in names
