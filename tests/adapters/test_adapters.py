"""metaeval's metrics in torchmetrics and evaluate: the numbers of pycocoevalcap, and ours."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from pycocoevalcap.bleu.bleu import Bleu as CocoBleu
from pycocoevalcap.cider.cider import Cider as CocoCider

import metaeval
from metaeval.data.scenes import load_scenes
from metaeval.metrics.spice.metric import Spice
from metaeval.text.tokenizers import base as tokenizers

SCENES = load_scenes(limit=30)
CAPTIONS = [text.replace(" a ", " the ") for text in SCENES.human]
REFERENCES = [list(group) for group in SCENES.references]

# the same arithmetic; nothing is rounded on the way
exact = {"rtol": 0, "atol": 1e-12}


@pytest.fixture(scope="module")
def libraries() -> tuple[Any, Any]:
    """metaeval's modules for the two, which take seconds to import."""
    from metaeval.adapters import evaluate, torchmetrics

    return torchmetrics, evaluate


@pytest.mark.parametrize(
    ("theirs", "name", "options"),
    [(CocoCider(), "Cider", {}), (CocoBleu(4), "Bleu", {"max_n": 4})],
)
def test_scores_are_pycocoevalcaps_in_both_libraries(
    theirs: Any, name: str, options: dict[str, int], libraries: tuple[Any, Any]
) -> None:
    tokenizer = tokenizers.get("ptb")
    gts = {i: [" ".join(t) for t in tokenizer(group)] for i, group in enumerate(REFERENCES)}
    res = {i: [" ".join(t)] for i, t in enumerate(tokenizer(CAPTIONS))}
    together, each = theirs.compute_score(gts, res)
    if options:  # lists by order
        together, each = together[-1], each[-1]
    torchmetrics, evaluate = libraries
    metric = getattr(torchmetrics, f"{name}Score")(per_caption=True, **options)
    for start in range(0, 30, 7):  # batch by batch: the corpus is all that was seen
        metric.update(CAPTIONS[start : start + 7], REFERENCES[start : start + 7])
    module = getattr(evaluate, f"{name}Module")()
    result = module.compute(predictions=CAPTIONS, references=REFERENCES, **options)
    ours, scores = metric.compute()
    for whole, parts in ((ours, scores), (result[module.metric], result["scores"])):
        np.testing.assert_allclose(whole, together, **exact)
        np.testing.assert_allclose(parts, each, **exact)
    assert ours > 0


def test_spider_is_the_mean_of_spice_and_cider(libraries: tuple[Any, Any]) -> None:
    parts = metaeval.score(CAPTIONS, REFERENCES, metrics=[Spice(parser="perceptron"), "cider"])
    spice = next(name for name in parts.corpus if name.startswith("SPICE"))
    expected = (parts.table[spice] + parts.table["CIDEr"]) / 2
    torchmetrics, evaluate = libraries
    metric = torchmetrics.SpiderScore(parser="perceptron", per_caption=True)
    metric.update(CAPTIONS, REFERENCES)
    together, scores = metric.compute()
    np.testing.assert_allclose(scores.numpy(), expected, **exact)
    np.testing.assert_allclose(together.item(), expected.mean(), **exact)
    result = evaluate.SpiderModule().compute(
        predictions=CAPTIONS, references=REFERENCES, parser="perceptron"
    )
    np.testing.assert_allclose(result["spider"], expected.mean(), **exact)


def test_a_torchmetric_resets_and_refuses_what_does_not_fit(libraries: tuple[Any, Any]) -> None:
    metric, found = libraries[0].CiderScore(), []
    for _ in range(2):
        metric.reset()
        metric.update(CAPTIONS[:5], REFERENCES[:5])
        found.append(metric.compute())
    assert torch.equal(*found)
    with pytest.raises(ValueError, match="2 captions and references of 1"):
        metric.update(["a", "b"], [["c"]])
    with pytest.raises(ValueError, match="must be lists"):
        metric.update("a dog", ["a"])  # type: ignore[arg-type]


def test_one_reference_may_be_a_string(libraries: tuple[Any, Any]) -> None:
    """As most metrics of torchmetrics take it; it was split into characters, and CIDEr was 0."""
    captions = ["a dog runs on the grass", "two men ride a horse"]
    references = ["a dog runs over the grass", "two people ride a horse"]
    expected, _ = CocoCider().compute_score(
        {i: [text] for i, text in enumerate(references)},
        {i: [text] for i, text in enumerate(captions)},
    )
    torchmetrics, evaluate = libraries
    metric = torchmetrics.CiderScore()
    metric.update(captions, references)
    np.testing.assert_allclose(metric.compute().item(), expected, **exact)
    assert expected == pytest.approx(4.04, abs=0.005)
    with pytest.raises(ValueError, match="expected a list"):
        evaluate.CiderModule().compute(predictions=captions, references=references)


@pytest.mark.slow
@pytest.mark.parametrize("package", ["torchmetrics", "evaluate"])
def test_a_missing_package_is_named_with_its_installation(package: str) -> None:
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        f"try:\n    import metaeval.adapters.{package}\n"
        "except ModuleNotFoundError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    needs = f"metaeval.adapters.{package} needs {package}; pip install {package}"
    assert done.stdout.strip() == needs
