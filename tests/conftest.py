"""Fixtures and skips shared by all tests."""

import os
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import settings

from metaeval.data.coco.load import load_coco
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.java.services import find_java
from metaeval.provenance import core_count
from metaeval.readers import matlab
from tests.reports.browser import EXECUTABLE, Page, chromium

# The same examples on every machine and every day; METAEVAL_EXAMPLES=200 looks at others, and more.
settings.register_profile("same", derandomize=True, max_examples=50, deadline=None)
settings.register_profile(
    "others", max_examples=int(os.environ.get("METAEVAL_EXAMPLES", "100")), deadline=None
)
settings.load_profile("others" if "METAEVAL_EXAMPLES" in os.environ else "same")

# Workers share the cores: threads of torch's that wait for one another take the others' time.
if workers := os.environ.get("PYTEST_XDIST_WORKER_COUNT"):
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, core_count() // int(workers))))


def data_root() -> Path | None:
    """The folder that METAEVAL_DATA names, if it holds COCO's annotations."""
    root = os.environ.get("METAEVAL_DATA")
    if root and (Path(root) / "coco/annotations/captions_val2017.json").is_file():
        return Path(root).resolve()
    return None


NO_DATA = "METAEVAL_DATA does not name a folder with COCO annotations"
if data_root() is not None:  # tests start commands in folders of their own
    os.environ["METAEVAL_DATA"] = str(data_root())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    java = find_java()
    no_java = pytest.mark.skip(reason=str(java))
    no_coco = pytest.mark.skip(reason=NO_DATA)
    for item in items:
        if "java" in item.keywords and isinstance(java, Absent):
            item.add_marker(no_java)
        if "coco" in item.keywords and data_root() is None:
            item.add_marker(no_coco)


@pytest.fixture(scope="session")
def coco_root() -> Path:
    """The data folder; tests that use it are skipped without it."""
    root = data_root()
    if root is None:
        pytest.skip(NO_DATA)
    return root


@pytest.fixture(scope="session")
def val2017(coco_root: Path) -> CaptionDataset:
    return load_coco("coco_val2017", "val2017", data=coco_root)


@pytest.fixture(autouse=True, scope="session")
def _matlab_files_are_read_once() -> Iterator[None]:
    """A file of MATLAB's is read by a process of its own: of equal bytes once a session."""

    @cache
    def run(command: tuple[str, ...], raw: bytes) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(command, input=raw, capture_output=True)

    with pytest.MonkeyPatch.context() as patch:
        once = SimpleNamespace(run=lambda command, input, **_: run(tuple(command), input))
        patch.setattr(matlab, "subprocess", once)
        yield


@pytest.fixture(scope="session")
def page() -> Iterator[Page]:
    """A tab of Chromium; tests that use it are skipped where there is none."""
    if EXECUTABLE is None:
        pytest.skip("no Chromium on PATH")
    with chromium() as tab:
        yield tab
