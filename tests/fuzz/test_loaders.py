"""No loader is left out: `metaeval.readers` alone opens files, and all datasets are fuzzed."""

import ast
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tests.fuzz.loaders import LOADERS

ROOT = Path(__file__).parents[2]
PACKAGES = ("metaeval", "corruptions", "experiments", "reports")

# calls that turn bytes of a file into something, by the last names of what is called
OPENING = {
    "expanduser",  # a `~` without a home folder is a RuntimeError of pathlib's
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

# module → calls in it that may stay, and why
ALLOWED: dict[str, tuple[set[str], str]] = {
    "experiments/score/parts.py": ({"json.loads"}, "what our own files say of themselves"),
    "experiments/stored_results.py": (
        {"json.loads", "path.read_bytes"},
        "copies in the cache; what has just been written",
    ),
    "reports/graded/browser.py": ({"json.loads"}, "copies in the cache"),
    "reports/paper/citations.py": (
        {"BIB.read_text", "file.read_text", "yaml.safe_load"},
        "the package's own sources",
    ),
    "metaeval/runs/files.py": (
        {"pq.read_table", "readers.read_json", "os.open"},
        "tables of our own runs, fuzzed as files of a run; new files with the user's umask",
    ),
    "metaeval/metrics/adapters/command.py": ({"json.loads"}, "a line of a program, checked there"),
    "metaeval/data/judgments/pascal50s.py": (
        {"json.loads"},
        "what our reader of MATLAB files gave",
    ),
    "metaeval/reproduce/explain.py": ({"json.loads"}, "copies in the cache"),
    "metaeval/metrics/judge/diagnostics.py": ({"json.loads"}, "answers of our own runs"),
    "metaeval/metrics/judge/reply.py": ({"json.loads"}, "a judge's answer, checked there"),
    "metaeval/metrics/judge/metric.py": ({"json.loads"}, "copies in the cache"),
    "metaeval/runs/answers.py": ({"os.open"}, "answers of our own runs"),
    "metaeval/results/files.py": ({"pq.read_table"}, "copies in the cache"),
    "metaeval/runs/folder.py": (
        {"os.open", "os.path.expanduser"},
        "the lock of a run's folder; a `~` without a home stays",
    ),
    "metaeval/java/process.py": ({"Path.read_text", "read_text"}, "what the kernel says of memory"),
    "metaeval/data/scenes/render.py": ({"Image.open"}, "an image that has just been written"),
    "metaeval/metrics/clipscore/weights.py": ({"read_text"}, "the package's own list of CLIPs"),
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
    "metaeval/runs/source.py": (
        {"path.read_bytes", "s.read_bytes"},
        "source code, for its checksum",
    ),
    "experiments/scores.py": ({"json.loads"}, "explanations of metaeval's metrics"),
    "experiments/sensitivity/task.py": (
        {"OmegaConf.load"},
        "the package's own configuration",
    ),
    "reports/shared/page.py": ({"p.read_text"}, "the package's own styles and scripts"),
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
    return re.search(r"[\w.]*$", ast.unparse(node.func))[0].strip(".")


def writes(node: ast.Call) -> bool:
    """Whether a file is opened for writing: a mode says so."""
    given = [*node.args, *(k.value for k in node.keywords)]
    modes = [a.value for a in given if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    return any(set(m) & set("wax") and len(m) <= 3 for m in modes) or any(
        isinstance(a, ast.IfExp) for a in given
    )


def imported(nodes: Sequence[ast.AST]) -> dict[str, str]:
    """Names in a module → where they come from."""
    return {
        alias.asname or alias.name: node.module or ""
        for node in nodes
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_files_are_opened_by_one_room_alone() -> None:
    strays = []
    for name, tree in modules():
        nodes = list(ast.walk(tree))
        origin = imported(nodes)
        own = {n.name for n in nodes if isinstance(n, ast.FunctionDef)}
        for node in nodes:
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
            strays.append(f"{name}:{node.lineno} {call}")
    assert not strays, "read files through metaeval.readers, or say in ALLOWED why not"
    assert not [name for name in ALLOWED if not (ROOT / name).is_file()]


# functions that load or read and need no entry of their own, and why
ELSEWHERE = {
    "load_auto": "COCO's loader, or that of the scenes",
    "load_scenes": "scenes that the package ships",
    "read_scenes": "scenes that the package ships",
    **dict.fromkeys(
        (
            *("given_path", "read_references", "read_own_text", "read_json_or_lines"),
            *("read_captions", "read_box"),
        ),
        "a part of loaders that have an entry",
    ),
}


def test_every_function_that_loads_has_an_entry() -> None:
    """A module may have several loaders, of which one is in the table and another is not."""
    loading = {
        node.name
        for name, tree in modules()
        if name.startswith(("metaeval/data/", "corruptions/"))
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith(("load_", "read_", "given_"))
    }
    files = {*(ROOT / "tests").rglob("*.py")} - {Path(__file__)}
    texts = [text for file in files if "FUZZED" in (text := file.read_text(encoding="utf-8"))]
    texts += [file.read_text(encoding="utf-8") for file in files if file.parent.name == "fuzz"]
    named = set(re.findall(r"\w+", " ".join(texts)))
    assert len(loading) > 20
    assert loading - named == ELSEWHERE.keys(), "add a loader to tests/fuzz/loaders.py"
    assert len({loader.name for loader in LOADERS}) == len(LOADERS)
