"""mkdocs hook: pages and files that `make docs` generates, in place of the short ones in docs/.

They are in build/docs, at the places that they have on the site. Pages of metrics that docs/
does not have join the menu.
"""

from __future__ import annotations

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

GENERATED = Path("build/docs")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The menu with the metrics whose pages are generated."""
    folder = Path(config.config_file_path).parent / GENERATED
    menu = next(part["Metrics"] for part in config.nav if "Metrics" in part)
    menu += [f"metrics/{page.name}" for page in sorted(folder.glob("metrics/*.md"))]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The files of docs/ with the generated ones."""
    folder = Path(config.config_file_path).parent / GENERATED
    for path in sorted(folder.rglob("*.*")):
        name = path.relative_to(folder).as_posix()
        if (short := files.get_file_from_path(name)) is not None:
            files.remove(short)
        files.append(File.generated(config, name, abs_src_path=str(path)))
    return files
