"""What a release says of itself: metadata, citation, templates, workflows; and what is tried."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from release import commands, smoke
from release.__main__ import EVERYTHING, FOR_WORK, environments

import dualprune
from dualprune.cli.__main__ import COMMANDS

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text())
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
EXTRAS = PROJECT["optional-dependencies"]


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("citation-file-format", "CITATION.cff"),
        ("github-workflows", ".github/workflows/*.yml"),
        ("github-issue-forms", ".github/ISSUE_TEMPLATE/[!c]*.yml"),
        ("github-issue-config", ".github/ISSUE_TEMPLATE/config.yml"),
    ],
)
def test_what_others_read_follows_their_schema(schema, files):
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    ended = subprocess.run(
        [*command, *ROOT.glob(files)], check=False, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stdout


def test_the_citation_agrees_with_the_package():
    assert (CITATION["title"], CITATION["license"]) == (PROJECT["name"], PROJECT["license"])
    assert set(CITATION["keywords"]) <= set(PROJECT["keywords"])
    names = [author["name"] for author in PROJECT["authors"]]
    assert [author["name"] for author in CITATION["authors"]] == names
    assert "version" not in CITATION, "the version is said in pyproject.toml alone"


def test_the_version_is_said_in_one_place():
    assert dualprune.__version__ == PROJECT["version"]
    quoted = re.compile(rf"[\"']{re.escape(PROJECT['version'])}[\"']")
    sources = [*(ROOT / "src").rglob("*.py"), *(ROOT / "release").glob("*.py")]
    assert not [path for path in sources if quoted.search(path.read_text())]


def test_the_changelog_keeps_its_form():
    text = (ROOT / "CHANGELOG.md").read_text()
    releases = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert releases[0] == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", one) for one in releases[1:])
    kinds = re.findall(r"^### (.+)$", text, re.MULTILINE)
    assert set(kinds) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def jobs():
    for path in (ROOT / ".github/workflows").glob("*.yml"):
        for name, job in yaml.safe_load(path.read_text())["jobs"].items():
            yield f"{path.stem}: {name}", job


@pytest.mark.parametrize(("name", "job"), [*jobs()], ids=[name for name, _ in jobs()])
def test_a_workflow_calls_what_a_person_types(name, job):
    typed = "\n".join(step.get("run", "") for step in job["steps"])
    called = set(re.findall(r"^make ([a-z]+)", typed, re.MULTILINE))
    assert called <= TARGETS
    assert called or ".ci/run" in typed or "publish" in name


def test_every_extra_is_used_and_every_command_typed():
    extras = set(EXTRAS) - set(FOR_WORK)
    assert extras == {*smoke.USES, "all"} - {"core"}
    assert EXTRAS["all"] == [f"dualprune[{','.join(EVERYTHING)}]"]
    assert {one.extra for one in environments()} == {"core", *extras}
    typed = {words.split()[0] for words in commands.COMMANDS}
    assert typed == {*COMMANDS, "--version", "--help"}
