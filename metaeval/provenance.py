"""Where a run's numbers come from: code, packages, machine. What `run.json` records."""

import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import metaeval
from metaeval.cores import core_count

# The packages whose versions can change a number, a figure or a file.
_PACKAGES = (
    *("hydra-core", "jinja2", "matplotlib", "nltk", "numpy", "omegaconf", "pandas", "pyarrow"),
    *("pycocoevalcap", "sacrebleu", "scipy", "seaborn"),
    *("torch", "torchvision", "open_clip_torch", "bert-score", "transformers"),
)


def packages() -> dict[str, str]:
    """Installed versions of the packages that matter; those not installed are left out."""
    versions = {}
    for name in _PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def git() -> dict[str, Any] | None:
    """The commit of the checkout that runs, and whether it has uncommitted changes.

    `None` for an installed package: a wheel is identified by its version.
    """
    root = Path(metaeval.__file__).resolve().parents[1]
    if not (root / ".git").exists():
        return None
    command = ["git", "-C", str(root), "status", "--porcelain=v2", "--branch"]
    try:
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return None
    first, *others = done.stdout.splitlines()  # "# branch.oid COMMIT"
    return {"commit": first.split()[-1], "dirty": any(line[0] != "#" for line in others)}


def cuda() -> str | None:
    """CUDA's version where torch is loaded and sees a device; torch is not loaded for this."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return None
    return f"{torch.version.cuda} on {torch.cuda.get_device_name()}"


def machine() -> dict[str, Any]:
    """Python, platform, cores, packages and CUDA."""
    return {
        "metaeval": metaeval.__version__,
        "git": git(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpu_count": core_count(),
        "packages": packages(),
        "cuda": cuda(),
    }
