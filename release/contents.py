"""What is inside the wheel and the sdist: the package, what is said about it, and nothing else."""

import base64
import csv
import hashlib
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from email import message_from_string
from pathlib import Path

ROOT = Path(__file__).parents[1]
ABOUT = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}
SOURCES = {
    *(".gitignore", "CHANGELOG.md", "CITATION.cff", "LICENSE", "PKG-INFO", "README.md"),
    *("SECURITY.md", "pyproject.toml"),
}
"""All that an sdist has beside `src`; hatchling adds `.gitignore` by itself."""


def problems(wheel: Path, sdist: Path) -> list[str]:
    """Say what is wrong with the two files of a release; nothing if all is well."""
    return [*_of_wheel(wheel), *_of_sdist(sdist)]


def project() -> dict[str, object]:
    """Give what pyproject.toml says of the project."""
    return dict(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"])


def package() -> set[str]:
    """Give the files of the package, relative to `src`."""
    files = (path for path in (ROOT / "src").rglob("*") if path.is_file())
    return {str(p.relative_to(ROOT / "src")) for p in files if "__pycache__" not in p.parts}


def _of_wheel(wheel: Path) -> Iterator[str]:
    about = "-".join(wheel.name.split("-")[:2]) + ".dist-info"
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    yield from _differences(wheel.name, set(files), package() | {f"{about}/{n}" for n in ABOUT})
    yield from _metadata(wheel.name, files.get(f"{about}/METADATA", b"").decode())
    if files.get(f"{about}/licenses/LICENSE") != (ROOT / "LICENSE").read_bytes():
        yield f"{wheel.name} has another LICENSE than this repository"
    record = csv.reader(files.get(f"{about}/RECORD", b"").decode().splitlines())
    hashes = {name: digest for name, digest, _ in record}
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        if not name.endswith("/RECORD") and hashes.get(name) != f"sha256={digest}":
            yield f"{wheel.name}: {name} is not what its RECORD says"


def _of_sdist(sdist: Path) -> Iterator[str]:
    top = sdist.name.removesuffix(".tar.gz")
    with tarfile.open(sdist) as archive:
        names = {member.name for member in archive if member.isfile()}
        about = archive.extractfile(f"{top}/PKG-INFO")
        metadata = "" if about is None else about.read().decode()
    wanted = SOURCES | {f"src/{name}" for name in package()}
    yield from _differences(sdist.name, names, {f"{top}/{name}" for name in wanted})
    yield from _metadata(sdist.name, metadata)


def _differences(where: str, names: set[str], wanted: set[str]) -> Iterator[str]:
    for name in sorted(names - wanted):
        yield f"{where} holds {name}, which does not belong there"
    for name in sorted(wanted - names):
        yield f"{where} lacks {name}"


def _metadata(where: str, text: str) -> Iterator[str]:
    """Compare with pyproject.toml, and look for what a page on an index needs."""
    said, own = message_from_string(text), project()
    extras = set(own["optional-dependencies"])  # type: ignore[call-overload] # a table
    expected = {
        "Name": own["name"],
        "Version": own["version"],
        "Summary": own["description"],
        "Requires-Python": own["requires-python"],
        "License-Expression": own["license"],
        "License-File": "LICENSE",
        "Description-Content-Type": "text/markdown",
    }
    for field, value in expected.items():
        if said[field] != value:
            yield f"{where}: {field} is {said[field]!r}, not {value!r}"
    if (listed := set(said.get_all("Provides-Extra", []))) != extras:
        yield f"{where}: extras are {sorted(listed)}, not {sorted(extras)}"
    for field in ("Keywords", "Classifier", "Requires-Dist"):
        if not said.get_all(field):
            yield f"{where} has no {field}"
