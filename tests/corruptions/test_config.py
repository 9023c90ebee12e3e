"""Every file of conf/corruption configures corruptions that change a caption."""

from __future__ import annotations

from pathlib import Path

import pytest
from hydra.utils import instantiate
from omegaconf import OmegaConf

from metaeval.corruptions.base import SEVERITIES, Corruption
from tests.corruptions.language.captions import HUMAN, dataset

FILES = sorted((Path(__file__).parents[2] / "conf/corruption").glob("*.yaml"))
NEED_TRUTH = {f.stem for f in FILES if f.stem.startswith("truth_")} | {"harmless_swap_symmetric"}
DATA = dataset(HUMAN * 4)
LONG = dataset([f"{a.rstrip('.')}. {b}" for a, b in zip(HUMAN, HUMAN[::-1], strict=True)])


def test_there_are_the_three_of_the_paper():
    assert {"random", "replace", "shuffle", "delete", "insert", "reverse"} <= {
        file.stem for file in FILES
    }


OWN = {"callable", "file", "mixture"}  # with a file of the user: tests/corruptions/own


# those that know the truth are tested on scenes
@pytest.mark.parametrize("file", [f for f in FILES if f.stem not in NEED_TRUTH | OWN])
def test_configured_corruptions_run(file):
    options = OmegaConf.to_container(OmegaConf.load(file))
    for seeding in ("seeds", "reseeded"):
        options.pop(seeding, None)
    rates = options.pop("rates", None)
    made = [instantiate({**options, "rate": r}) for r in rates] if rates else [instantiate(options)]
    assert len({corruption.label for corruption in made}) == len(made)
    for corruption in made:
        assert isinstance(corruption, Corruption)
        assert corruption.name == file.stem
        data = LONG if corruption.kind == "sentences" else DATA
        assert corruption.missing(data) is None
        results = corruption.apply(data, 0)
        assert len(results) == len(data)
        assert any(result.applied for result in results)


@pytest.mark.parametrize("file", [f for f in FILES if f.stem not in OWN])
def test_severity_is_declared_and_agrees_with_the_expected_effect(file):
    options = OmegaConf.to_container(OmegaConf.load(file))
    for seeding in ("seeds", "reseeded"):
        options.pop(seeding, None)
    rates = options.pop("rates", None) or [None]
    made = [instantiate(options if r is None else {**options, "rate": r}) for r in sorted(rates)]
    ranks = [SEVERITIES.index(corruption.severity) for corruption in made]
    assert ranks == sorted(ranks)  # a higher rate is never milder
    for corruption in made:
        assert (corruption.severity == "none") == (corruption.expected == "same")


def test_severity_follows_the_rate():
    replace = OmegaConf.to_container(OmegaConf.load(FILES[0].with_name("replace.yaml")))
    target = {"_target_": replace["_target_"]}
    severities = {r: instantiate({**target, "rate": r}).severity for r in (0.1, 0.49, 0.5, 1.0)}
    assert severities == {0.1: "major", 0.49: "major", 0.5: "critical", 1.0: "critical"}


def test_rates_are_the_papers():
    rates = {file.stem: OmegaConf.load(file).get("rates") for file in FILES}
    assert rates["replace"] == [0.25, 0.5]
    assert rates["shuffle"] == [0.25, 0.5, 1.0]
