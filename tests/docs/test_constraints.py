"""constraints.txt: it has every dependency, in a version that pyproject.toml allows."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_dependency_has_a_tested_version() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert all(re.fullmatch(r"[a-z0-9-]+", name) for name in pinned)  # no address of a host
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for dependency in map(Requirement, project["dependencies"]):
        version = pinned[_plain(dependency.name)]
        assert dependency.specifier.contains(version), f"{dependency} and {version}"
    assert "pip install -c constraints.txt ." in (ROOT / "README.md").read_text(encoding="utf-8")
