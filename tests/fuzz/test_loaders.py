"""That no loader is left out: files are opened by `metaeval.readers` alone, and all who read
through it are in the table of loaders.
"""

import ast
import sys
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pytest

from tests.fuzz.loaders import LOADERS

ROOT = Path(__file__).parents[2]
PACKAGES = ("metaeval", "corruptions", "experiments", "reports")

# calls that turn bytes of a file into something, by the last names of what is called
OPENING = {
    "open",
    "read_text",
    "read_bytes",
    "loadmat",
    "fromfile",
    "memmap",
    "mmap",
    "genfromtxt",
    "loadtxt",
    "read_table",
    "read_csv",
    "read_parquet",
    "read_json",
    "read_pickle",
    "ParquetFile",
    "ZipFile",
    "TarFile",
    "reader",
    "DictReader",
    "safe_open",
    "load_file",
    "from_pretrained",
    "literal_eval",
    "Unpickler",
    "File",
    "is_zipfile",
    "safe_load",
}
LOADING = {
    "np",
    "numpy",
    "json",
    "pickle",
    "torch",
    "jit",
    "yaml",
    "OmegaConf",
    "marshal",
    "joblib",
}
# our own functions of such names, and what only sounds so
OURS = ("files.read_table", "files.read_json")

# module → calls in it that may stay, and why
ALLOWED: dict[str, tuple[set[str], str]] = {
    "experiments/score/parts.py": ({"json.loads"}, "what our own files say of themselves"),
    "reports/paper/citations.py": (
        {"BIB.read_text", "file.read_text", "yaml.safe_load"},
        "the package's own sources",
    ),
    "metaeval/runs/files.py": (
        {"pq.read_table", "readers.read_json", "os.open"},
        "tables of our own runs, fuzzed as files of a run; new files with the user's umask",
    ),
    "metaeval/metrics/judge/diagnostics.py": ({"json.loads"}, "answers of our own runs"),
    "metaeval/metrics/judge/reply.py": ({"json.loads"}, "a judge's answer, checked there"),
    "metaeval/metrics/judge/metric.py": ({"json.loads"}, "copies in the cache"),
    "metaeval/runs/answers.py": ({"os.open"}, "answers of our own runs"),
    "metaeval/runs/folder.py": ({"os.open"}, "the lock of a run's folder"),
    "metaeval/java/process.py": ({"Path.read_text", "read_text"}, "what the kernel says of memory"),
    "metaeval/java/services.py": (
        {"path.read_bytes", "zipfile.ZipFile"},
        "our own jar, made and looked at",
    ),
    "metaeval/data/scenes/load.py": (
        {"path.read_bytes", "json.loads"},
        "the package's own scenes and source",
    ),
    "metaeval/text/scene_graphs/spice_service.py": (
        {"json.loads", "zipfile.is_zipfile"},
        "answers of our own process and their copies in the cache; asks whether a file is a zip",
    ),
    "metaeval/text/scene_graphs/parse.py": ({"json.loads"}, "copies in the cache"),
    "metaeval/metrics/vifidel/metric.py": ({"json.loads"}, "copies in the cache"),
    "metaeval/vision/regions/detector.py": ({"json.loads"}, "copies in the cache"),
    "metaeval/text/word_vectors/base.py": (
        {"gzip.open", "mmap.mmap"},
        "a download with a checksum; a file that `open_binary` opened",
    ),
    "metaeval/data/download.py": ({"path.open", "os.open"}, "a download's checksum and lock"),
    "metaeval/text/transformers/encoder.py": (
        {
            "transformers.AutoConfig.from_pretrained",
            "transformers.AutoTokenizer.from_pretrained",
            "kind.from_pretrained",
        },
        "a folder that `check_folder` has looked at",
    ),
    "metaeval/metrics/language_model/causal.py": (
        {
            "transformers.AutoTokenizer.from_pretrained",
            "transformers.AutoModelForCausalLM.from_pretrained",
        },
        "a folder that `check_folder` has looked at, or the file of the package",
    ),
    "metaeval/adapters/torchmetrics.py": ({"json.loads"}, "what our own options say"),
    "metaeval/api.py": ({"pd.read_parquet", "OmegaConf.load"}, "files of our own runs"),
    "metaeval/check/contract.py": (
        {"pickle.loads", "json.loads", "file.read_text"},
        "a metric that was just pickled, scores",
    ),
    "metaeval/option_tables.py": (
        {"path.read_text", "yaml.safe_load"},
        "the package's own configuration",
    ),
    "metaeval/choices.py": ({"path.read_text"}, "the package's own configuration"),
    "metaeval/overrides.py": (
        {"path.read_text", "OmegaConf.load"},
        "the package's own configuration",
    ),
    "metaeval/runs/source.py": ({"path.read_bytes"}, "source code, for its checksum"),
    "experiments/scores.py": ({"json.loads"}, "explanations of metaeval's metrics"),
    "experiments/sensitivity/combinations.py": (
        {"OmegaConf.load"},
        "the package's own configuration",
    ),
    "reports/shared/page.py": ({"p.read_text"}, "the package's own styles and scripts"),
}

# modules whose `metaeval.readers` calls read no user input: why they need no loader
UNREACHED = {
    "metaeval/overrides.py": "an argument of the command",
    "metaeval/reproduce/functions.py": "THumB's published scores, by the strict reader of tables",
    "experiments/trust/task.py": "files of our own runs",
    "reports/captioners/page.py": "a file of the run",
    "metaeval/papers/expected.py": "tests/reproduce damages its files by hand",
    "metaeval/metrics/judge/diagnostics.py": "the package's own table of families",
    "experiments/trust/verdicts.py": "tests/experiments/trust damages its files by hand",
    "experiments/score/task.py": "files of our own run",
    "metaeval/metrics/hallucination/chair.py": "tests/metrics/hallucination damages it by hand",
    "metaeval/text/scene_graphs/dependencies/parser.py": "the shipped parser",
    "metaeval/text/scene_graphs/spice_service.py": "jars that are believed by their checksum",
    "metaeval/metrics/spice/metric.py": "a jar of pycocoevalcap, as it is installed",
    "metaeval/data/coco/install_images.py": "an archive that the user installs from",
    "metaeval/data/scenes/render.py": "pictures in the cache, drawn anew where they are damaged",
    "metaeval/vision/regions/detector.py": "images and checkpoints as in other loaders",
    "metaeval/metrics/clipscore/network.py": "images and checkpoints as in other loaders",
    "metaeval/metrics/language_model/causal.py": "a folder that `check_folder` has looked at",
    "reports/shared/page.py": "images as in other loaders",
}


@cache
def modules() -> Sequence[tuple[str, ast.Module]]:
    trees = []
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if not name.startswith("metaeval/readers/"):
                trees.append((name, ast.parse(path.read_text(encoding="utf-8"))))
    return trees


def called(node: ast.Call) -> str:
    """What is called: "np.load", "path.open"."""
    names, function = [], node.func
    while isinstance(function, ast.Attribute):
        names.append(function.attr)
        function = function.value
    names.append(function.id if isinstance(function, ast.Name) else "")
    return ".".join(reversed(names)).strip(".")


def writes(node: ast.Call) -> bool:
    """Whether a file is opened for writing: a mode says so."""
    given = [*node.args, *(k.value for k in node.keywords)]
    modes = [a.value for a in given if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    return any(set(m) & set("wax") and len(m) <= 3 for m in modes) or any(
        isinstance(a, ast.IfExp) for a in given
    )


def imported(tree: ast.Module) -> dict[str, str]:
    """Names in a module → where they come from."""
    return {
        alias.asname or alias.name: node.module or ""
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_files_are_opened_by_one_room_alone() -> None:
    strays = []
    for name, tree in modules():
        origin = imported(tree)
        own = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            call = called(node)
            first, last = call.split(".")[0], call.split(".")[-1]
            loads = last in ("load", "loads") and first in LOADING
            if (
                not (loads or last in OPENING)
                or writes(node)
                or call in ALLOWED.get(name, ((), ""))[0]
            ):
                continue
            if origin.get(first, "").startswith(("metaeval.", "experiments", "reports")):
                continue  # another module of metaeval, checked on its own
            if first in ("self", "cls") or (call == last and last in own):
                continue
            if any(call.endswith(ours) for ours in OURS):
                continue
            strays.append(f"{name}:{node.lineno} {call}")
    assert not strays, "read files through metaeval.readers, or say in ALLOWED why not"
    assert not [name for name in ALLOWED if not (ROOT / name).is_file()]


def reading_modules() -> set[str]:
    """The modules that import from `metaeval.readers` what reads."""
    harmless = {
        "one_line",
        "is_number",
        "read_number",
        "read_list",
        "check_numbers",
        "MOST_TEXT",
        "TextFile",
        "load_weights",
        "options_of",
        "READING",
        "check_name",
        "name_problem",
        "native_errors",
        "user_path",
    }
    return {
        name
        for name, tree in modules()
        for imported_name, module in imported(tree).items()
        if module.startswith("metaeval.readers") and imported_name not in harmless
    }


class Reached(NamedTuple):
    """What runs while the table's loaders read: the modules that call `metaeval.readers`, and all
    functions of the project, as ("metaeval/data/coco/load.py", "load_auto")."""

    modules: set[str]
    functions: set[tuple[str, str]]


@pytest.fixture(scope="module")
def reached(tmp_path_factory: pytest.TempPathFactory) -> Reached:
    callers: set[str] = set()
    called: set[tuple[str, str]] = set()
    room, ours = str(ROOT / "metaeval/readers"), tuple(str(ROOT / p) for p in PACKAGES)

    def look(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(ours):
            called.add((code.co_filename, code.co_name))
            if code.co_filename.startswith(room) and frame.f_back:
                callers.add(frame.f_back.f_code.co_filename)

    for loader in LOADERS:
        folder = tmp_path_factory.mktemp("made")
        loader.make(folder)
        sys.setprofile(look)
        threading.setprofile(look)
        try:
            loader.read(folder)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    return Reached({_name(f) for f in callers}, {(_name(f), function) for f, function in called})


def _name(file: str) -> str:
    """A module by its file in the repository: metaeval/experiments is a link to experiments."""
    path = Path(file).resolve()
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else file


# public functions that load or read and need no entry of their own, and why
ELSEWHERE = {
    ("experiments/score/task.py", "own_references"): "a mark: the rows contain the references",
    ("metaeval/data/coco/load.py", "load_auto"): "COCO's loader, or that of the scenes",
    ("metaeval/data/scenes/load.py", "load_scenes"): "scenes that the package ships",
    ("metaeval/data/scenes/load.py", "read_scenes"): "scenes that the package ships",
}


def test_every_function_that_loads_is_reached(reached: Reached) -> None:
    """A module may have several loaders, of which one is in the table and another is not."""
    loading = {
        (name, node.name)
        for name, tree in modules()
        if name.startswith(("metaeval/data/", "corruptions/"))
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith(("load_", "read_", "given_"))
    }
    assert len(loading) > 20
    lacking = loading - reached.functions - ELSEWHERE.keys()
    assert not lacking, "these functions read files: add a loader to tests/fuzz/loaders.py"
    excused = {key for key in ELSEWHERE if not key[0].startswith("experiments/")}
    assert not excused - loading | ELSEWHERE.keys() & reached.functions, "no excuse needed"


def test_every_reader_is_in_the_table(reached: Reached) -> None:
    lacking = reading_modules() - reached.modules - UNREACHED.keys()
    assert not lacking, "these modules read files: add a loader to tests/fuzz/loaders.py"
    stale = (UNREACHED.keys() - reading_modules()) | (UNREACHED.keys() & reached.modules)
    assert not stale, "these need no excuse"
    assert len({loader.name for loader in LOADERS}) == len(LOADERS)
