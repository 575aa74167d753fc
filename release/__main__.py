"""Check the files of a release, then install and use the wheel in fresh environments.

    python -m release dist 'torch==2.13.0' [environment ...]

The second argument is what to install before an extra that brings torch, so that the build which
the machine needs is there. Environments are named as in the table that this prints.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from release.contents import problems, project

HERE = Path(__file__).parent
PYTHONS = [f"3.{minor}" for minor in range(11, 16)]
EVERYTHING = ("torch", "sklearn", "fast", "report", "plot", "knn")
FOR_WORK = ("dev", "docs")
"""Extras for those who work on the package, which no user needs."""
TYPED = {"core": (), "torch": ("torch",), "all": EVERYTHING}
"""Environments in which every command is typed, and the extras that they have."""


@dataclass(frozen=True)
class Environment:
    """A Python and an extra; `core` is none."""

    python: str
    extra: str

    @property
    def name(self) -> str:
        return f"{self.python}-{self.extra}"


def environments() -> Iterator[Environment]:
    """The core on every Python that is here, every extra on the oldest."""
    for python in PYTHONS:
        if shutil.which(f"python{python}"):
            yield Environment(python, "core")
    extras = project()["optional-dependencies"]
    for extra in extras if isinstance(extras, dict) else ():
        if extra not in FOR_WORK:
            yield Environment(PYTHONS[0], extra)


def attempt(environment: Environment, wheel: Path, torch: str) -> str:
    """Install the wheel in a fresh environment and use it; says what happened."""
    with tempfile.TemporaryDirectory(prefix="dualprune-") as folder:
        python, work = Path(folder, "env/bin/python"), Path(folder, "work")
        work.mkdir()
        command = [f"python{environment.python}", "-m", "venv", "--without-pip", python.parents[1]]
        subprocess.run(command, check=True)
        extra = "" if environment.extra == "core" else f"[{environment.extra}]"
        if brings_torch(environment.extra):
            install(python, torch)
        install(python, f"{wheel}{extra}")
        run(python, work, "smoke.py", *used(environment.extra))
        if environment.extra in TYPED:
            (work / "typed").mkdir()
            run(python, work / "typed", "commands.py", *TYPED[environment.extra])
        return f"{len(list(python.parents[1].glob('lib/*/site-packages/*.dist-info')))} packages"


def brings_torch(extra: str) -> bool:
    """Whether torch is among what an extra installs."""
    extras = project()["optional-dependencies"]
    wanted = extras.get(extra, []) if isinstance(extras, dict) else []
    return any(re.match(r"torch\b|dualprune\[.*torch", requirement) for requirement in wanted)


def used(extra: str) -> tuple[str, ...]:
    """Which uses are tried with an extra."""
    return ("core", *EVERYTHING) if extra == "all" else tuple(dict.fromkeys(("core", extra)))


def install(python: Path, what: str) -> None:
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q"]
    subprocess.run([*pip, "--only-binary", ":all:", what], check=True)


def run(python: Path, work: Path, script: str, *words: str) -> None:
    """Run a script where only what was installed can be imported."""
    command = [python, "-I", HERE / script, *words]
    subprocess.run(command, cwd=work, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"})


def main(dist: Path, torch: str, *names: str) -> int:
    """Check, install, use; prints a table and gives how much failed."""
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    known = {environment.name: environment for environment in environments()}
    wrong = problems(wheel.absolute(), sdist)
    wrong += [f"there is no environment {name}" for name in names if name not in known]
    print(*wrong or [f"{wheel.name}, {sdist.name}: as they should be"], sep="\n", flush=True)
    rows = []
    for environment in known.values():
        if names and environment.name not in names:
            continue
        print(f"\n{environment.name}", flush=True)
        start = time.monotonic()
        try:
            result = attempt(environment, wheel.absolute(), torch)
        except subprocess.CalledProcessError as error:
            result = f"FAILED: {Path(error.cmd[0]).name} ended with {error.returncode}"
        rows.append((environment.name, f"{time.monotonic() - start:.0f} s", result))
    missing = [python for python in PYTHONS if not shutil.which(f"python{python}")]
    print(f"\n{'environment':16} {'time':>6}  result")
    for name, seconds, result in rows:
        print(f"{name:16} {seconds:>6}  {result}")
    print(f"not on this machine: Python {', '.join(missing)}")
    return len(wrong) + sum(result.startswith("FAILED") for *_, result in rows)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]) != 0)
