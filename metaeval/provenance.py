"""The code, the packages and the machine that numbers come from: what `run.json` records."""

import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import metaeval

# The packages whose versions can change a number, a figure or a file.
_PACKAGES = (
    *("hydra-core", "jinja2", "matplotlib", "nltk", "numpy", "omegaconf", "pandas", "pyarrow"),
    *("pycocoevalcap", "sacrebleu", "scipy", "seaborn"),
    *("torch", "torchvision", "open_clip_torch", "bert-score", "transformers"),
)


def core_count() -> int:
    """Cores that this process may use, at least 1: all, or those that it is restricted to."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


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


def java() -> str | None:
    """What the Java that metrics have looked for says of itself; no program is started for this."""
    services = sys.modules.get("metaeval.java.services")
    return None if services is None else services.java_version(ask=False)


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
