"""Wheel and sdist: the package with its data and nothing else, the same bytes everywhere."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from release.contents import package, problems

ROOT = Path(__file__).parents[1]
COPIED = (
    *("src", "tests", "release", "pyproject.toml", ".gitignore"),
    *("LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "SECURITY.md"),
)


def build(folder, *targets):
    """Build into `dist`, and give the files in the order of the targets: sdist, wheel."""
    kinds = [word for target in targets for word in ("-t", target)]
    command = [sys.executable, "-m", "hatchling", "build", *kinds, "-d", folder / "dist"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    suffixes = {"sdist": ".tar.gz", "wheel": ".whl"}
    return [next((folder / "dist").glob(f"*{suffixes[target]}")) for target in targets]


def copied(folder, mode, time):
    """Copy the sources to where there is no git; the files have this mode and time."""
    folder.mkdir(parents=True)
    for name in COPIED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    for file in (path for path in folder.rglob("*") if path.is_file()):
        file.chmod(mode)
        os.utime(file, (time, time))
    return folder


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel") / "sources"
    return build(copied(folder, 0o644, 1_600_000_000), "sdist", "wheel")


def test_they_hold_what_they_should(built):
    sdist, wheel = built
    assert problems(wheel, sdist) == []
    kinds = {Path(name).suffix for name in package() - {"dualprune/py.typed"}}
    assert kinds == {".css", ".html", ".js", ".py", ".toml"}


def test_they_are_the_same_wherever_and_whenever_they_are_built(tmp_path, built):
    again = build(copied(tmp_path / "deeper" / "copy", 0o600, 1_650_000_000), "sdist", "wheel")
    for one, other in zip(built, again, strict=True):
        assert (one.name, one.read_bytes()) == (other.name, other.read_bytes())


def test_the_sdist_builds_the_same_wheel(tmp_path, built):
    sdist, wheel = built
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (sources,) = tmp_path.iterdir()
    (again,) = build(sources, "wheel")
    assert wheel.read_bytes() == again.read_bytes()


def changed(wheel, folder, change):
    """Write the wheel again with its files changed."""
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    about = wheel.name.removesuffix("-py3-none-any.whl") + ".dist-info"
    change(files, about)
    with zipfile.ZipFile(folder / wheel.name, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return folder / wheel.name


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda files, _: files.update({"tests/test_run.py": b""}), "holds tests/test_run.py"),
        (lambda files, _: files.update({"dualprune/paper.tex": b""}), "holds dualprune/paper.tex"),
        (lambda files, _: files.pop("dualprune/py.typed"), "lacks dualprune/py.typed"),
        (lambda files, about: files.pop(f"{about}/licenses/LICENSE"), "another LICENSE"),
        (lambda files, _: files.update({"dualprune/errors.py": b"1"}), "not what its RECORD says"),
        (
            lambda files, about: files.update(
                {f"{about}/METADATA": files[f"{about}/METADATA"].replace(b"Apache-2.0", b"MIT")}
            ),
            "License-Expression is 'MIT'",
        ),
    ],
)
def test_what_does_not_belong_or_is_missing_is_named(tmp_path, built, change, said):
    sdist, wheel = built
    assert said in "\n".join(problems(changed(wheel, tmp_path, change), sdist))
