"""`experiment=captioners` as a user runs it: files, numbers, messages, the same bytes."""

import csv
import re
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pycocoevalcap.bleu.bleu import Bleu as CocoBleu
from scipy.stats import kendalltau

from metaeval import score
from metaeval.config import compose_config
from metaeval.data.coco.load import load_coco
from metaeval.data.dataset import CaptionDataset
from metaeval.data.scenes import load_scenes
from metaeval.data.system_captions import read_system_captions
from metaeval.errors import MetaevalError, StrictError
from metaeval.experiments.captioners.systems import with_all_references
from metaeval.experiments.run import run_configured
from metaeval.metrics.base import Scorer
from metaeval.metrics.ngram.cider import Cider
from metaeval.reports.measured import write_report
from metaeval.results.files import read_result
from metaeval.results.measured import MeasuredResult, SystemRanking
from metaeval.runs import files as results
from metaeval.stats.correlation.rank_order import rank_order
from metaeval.stats.significance.comparison import holm
from tests.experiments.captioners.captioners_files import (
    HOSTILE,
    SYSTEMS as SMALL_SYSTEMS,
    write_captioners_run,
)
from tests.shared import composed, in_data, write_captions, write_json

FAST = ("stats.replicates=60", "task.permutations=500", "stats.tie_seeds=2")


def result_of(run: Path) -> MeasuredResult:
    return read_result(run / results.STATISTICS)


@pytest.mark.slow
@pytest.mark.coco
@pytest.mark.parametrize(
    ("name", "bleu", "cider", "words", "layout"),
    [
        ("blip2_results_xe", 0.438, 1.460, None, "an object whose keys are image_id"),
        ("llava-1.5-7b_briefly", 0.223, 0.686, 14.5, "objects whose only key is image_id"),
    ],
)
def test_captioners_of_2023_score_what_was_measured_elsewhere(
    name: str, bleu: float, cider: float, words: float | None, layout: str, coco_root: Path
) -> None:
    """On all 5,000 images with five references, their files as they were published."""
    file = in_data(coco_root, f"coco/captioners_2023/{name}.json")
    everyone = with_all_references(
        load_coco("coco", captions=coco_root / "coco/annotations/captions_karpathy_test.json")
    )
    system = read_system_captions(file, name, everyone.image_ids)
    assert len(system.captions) == 5000
    assert layout in system.notes[0]
    references = dict(zip(everyone.image_ids, everyone.references, strict=True))
    made = score(dict(system.captions), references, metrics=["bleu", "cider"])
    assert made.corpus["BLEU-4"] == pytest.approx(bleu, abs=5e-4)
    assert made.corpus["CIDEr"] == pytest.approx(cider, abs=5e-4)
    if words is not None:
        mean = np.mean([len(caption.split()) for caption in system.captions.values()])
        assert mean == pytest.approx(words, abs=0.05)


def numbers(run: Path, metric: str) -> SystemRanking:
    return result_of(run).systems[metric]


def captions_of(run: Path) -> dict[str, dict[str, object]]:
    """System → what the run says of its captions."""
    return {row["system"]: row for row in result_of(run).extra("captions").records}


# ---- what can be wrong, on a dataset of six images ----

CAPTIONS = ("A dog runs.", "The dog is running on grass.", "A brown dog.", "Dog in a park.", "Run!")


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A folder with six images' captions in COCO's format, and results files of two systems."""
    ids = range(1, 7)
    captions = {i: [f"{text} {i}" for text in CAPTIONS] for i in ids}
    write_captions(tmp_path / "captions_tiny.json", captions)
    parrot = [{"image_id": i, "caption": f"{CAPTIONS[1]} {i}"} for i in ids]
    mute = [{"image_id": i, "caption": "" if i == 4 else "a thing"} for i in range(1, 5)]
    files = {"parrot": parrot, "bad": [parrot[0]] * 2, "far": parrot[5:], "mute": mute}
    for name, records in files.items():
        write_json(tmp_path / f"{name}.json", records)
    return tmp_path


def run(folder: Path, captions: str, *overrides: str) -> Path:
    """One run in this process; its directory."""
    config = composed(
        folder, "experiment=captioners", "dataset=coco",
        f"dataset.captions={folder}/captions_tiny.json", "metric=[bleu,rouge_l]", "controls=[]",
        "report=none", *FAST, captions, *overrides,
    )  # fmt: skip
    run_configured(config, folder / "out")
    return folder / "out"


def test_names_are_given_and_images_outside_the_run_left_aside(
    tiny: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = f"captions={{Best: {tiny}/parrot.json, mute: {tiny}/mute.json}}"
    out = run(tiny, given, "dataset.limit=4")
    systems = captions_of(out)
    assert systems["Best"]["n_other_images"] == 2
    assert (systems["mute"]["n_missing"], systems["mute"]["n_empty"]) == (0, 1)
    # "Best" repeats the second of each image's references; people's own captions repeat none
    assert (systems["Best"]["n_references"], systems["mute"]["n_references"]) == (4, 0)
    assert read_result(out / results.STATISTICS).caveat == (
        "Captions that are a reference of their image, word for word: Best, 4 of 4; people's "
        "captions, 0 of 4."
    )
    assert numbers(out, "mean rank").scores["Best"].value == 1
    best = numbers(out, "BLEU-1 (corpus)")
    # word for word a reference; the constants of BLEU leave some 1e-10 to 1
    assert best.ranking == ["Best", "mute"]
    assert best.scores["Best"].value == pytest.approx(1, abs=1e-9)
    dataset = results.read_run_json(out / results.RUN)["dataset"]
    assert "mute: 1 caption is empty." in dataset["notes"]
    assert dataset["systems"]["Best"] == {"read": 6, "used": 4, "left_out": 2, "refused": 0}
    assert "systems: 10 records read, 8 used, 2 left out" in capsys.readouterr().out


def test_one_system_is_compared_with_none(tiny: Path) -> None:
    """Captions of images that are left out are not a mistake of its file."""
    other = write_captions(tiny / "captions_other.json", {6: ["a dog"]})
    out = run(tiny, f"captions={tiny}/parrot.json", f"dataset.exclude={other}")
    assert numbers(out, "ROUGE-L").comparisons.pairs == ()
    assert result_of(out).extra("disagreement").frame()["disagreement"].isna().all()
    notes = results.read_run_json(out / results.RUN)["dataset"]["notes"]
    assert "parrot: 1 caption of images left out, not read." in notes
    assert write_report(out).is_file()


def test_too_few_permutations_are_reported(tiny: Path, caplog: pytest.LogCaptureFixture) -> None:
    given = f"captions=[{tiny}/parrot.json,{tiny}/mute.json]"
    run(tiny, given)
    assert "permutations" not in caplog.text
    run(tiny, given, "task.permutations=50", "stats.confidence=0.99")
    assert "with 50 permutations no difference can be shown at 0.01" in caplog.text


@pytest.mark.parametrize(
    ("captions", "more", "message"),
    [
        ("captions=null", "seed=0", "give the systems' captions: captions=FOLDER"),
        ("captions=gone.json", "seed=0", "gone.json: file not found"),
        (
            "captions={{Human: {0}/parrot.json}}",
            "seed=0",
            "'Human' is the name of people's",
        ),
        (
            "captions={0}/bad.json",
            "seed=0",
            "bad.json, [1], field 'image_id': 1 occurs twice",
        ),
        ("captions={0}/far.json", "dataset.limit=4", "far.json: has no caption of any image of"),
        (
            "captions={0}/parrot.json",
            "task.permutations=0",
            "permutations: 0 is not in [1, 1000000]",
        ),
        ("captions={0}/parrot.json", "metric=[blue]", "unknown metric 'blue'"),
        (
            "captions={0}/parrot.json",
            "task.baseline=parot",
            "task.baseline: unknown system 'parot'; did you mean 'parrot'",
        ),
    ],
)
def test_bad_input_is_refused_before_anything_is_scored(
    tiny: Path, captions: str, more: str, message: str
) -> None:
    with pytest.raises(MetaevalError, match=re.escape(message)) as caught:
        run(tiny, captions.format(tiny), more)
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)
    assert not (tiny / "out" / results.SCORES).exists()


# ---- on twenty images: the baseline, equal systems, and the page ----


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("captioners")
    return write_captioners_run(folder, 4, "task.baseline=fair", "stats.replicates=400")


def all_captions(small: Path) -> CaptionDataset:
    """The dataset of the run."""
    return load_coco("coco", captions=small.parent / "captions_tiny.json")


def captions_by(small: Path, file: str) -> Mapping[Any, str]:
    """Image → the caption of a system."""
    path = small.parent / file
    return read_system_captions(path, "s", all_captions(small).image_ids).captions


def test_missing_images_are_left_out(small: Path) -> None:
    counted = {name: (row["n"], row["n_missing"]) for name, row in captions_of(small).items()}
    assert counted == dict.fromkeys(SMALL_SYSTEMS, (20, 0)) | {"<b>poor": (16, 4)}
    cider = numbers(small, "CIDEr")
    assert {name: each.n for name, each in cider.scores.items()}["<b>poor"] == 16
    assert {("<b>poor" in (p.a, p.b), p.n) for p in cider.comparisons.pairs} == {
        (True, 16),
        (False, 20),
    }
    scores = results.read_run_table(small / results.SCORES)
    assert (scores["set"] == "<b>poor").sum() == 16 * 6


def test_corpus_scores_and_means_are_kept_separate(small: Path) -> None:
    """pycocoevalcap's of both kinds, with all five references."""
    data = with_all_references(all_captions(small))
    texts = {i: [text] for i, text in captions_by(small, "0.json").items()}
    references = dict(zip(data.image_ids, data.references, strict=True))
    tokenised = (
        {i: [" ".join(words) for words in Cider().words(of)] for i, of in each.items()}
        for each in (references, texts)
    )
    corpus, of_each = CocoBleu(4).compute_score(*tokenised, 0)
    for k, expected in enumerate(zip(corpus, np.mean(of_each, axis=1), strict=True)):
        kinds = [f"BLEU-{k + 1} ({kind})" for kind in ("corpus", "mean of sentences")]
        made = [numbers(small, name).scores["good"].value for name in kinds]
        assert made == pytest.approx(expected, abs=1e-12)
    assert abs(corpus[3] - np.mean(of_each[3])) > 0.01


def test_against_human_is_the_papers_statistic(small: Path) -> None:
    """Two levels, the four other references on both sides, on the images that both have."""
    dataset, captions = all_captions(small), captions_by(small, "2.json")
    images = np.array([i for i, name in enumerate(dataset.image_ids) if name in captions])
    cider = Cider().bind(dataset)
    assert isinstance(cider, Scorer)
    cider.prepare()
    machine = cider.score([captions[dataset.image_ids[i]] for i in images], images)
    human = cider.score([dataset.human[i] for i in images], images)
    expected = rank_order(np.concatenate([machine, human], axis=1), [0, 1])
    records = result_of(small).extra("against_human").records
    (poor,) = (r for r in records if (r["metric"], r["system"]) == ("CIDEr", "<b>poor"))
    made = poor["rank_order_rho"], poor["human_mean"], poor["n"]
    assert made == pytest.approx((expected.rho, human.mean(), 16), abs=1e-12)
    assert poor["rank_order_rho_low"] <= expected.rho <= poor["rank_order_rho_high"]


def test_agreement_and_disagreement(small: Path) -> None:
    result = result_of(small)
    rows = result.extra("agreement-within-image").records
    names = [row["metric"] for row in rows]
    assert names == ["BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "ROUGE-L", "CIDEr"]
    tau, low, high = (
        np.array([[row[f"{name}{end}"] for name in names] for row in rows])
        for end in ("", "_low", "_high")
    )
    np.testing.assert_array_equal(tau, tau.T)
    assert (np.diag(tau) == 1).all()
    assert ((low <= tau) & (tau <= high)).all()
    assert result.settings["votes in disagreement"] == ("BLEU-4", "ROUGE-L", "CIDEr")
    of_images = result.extra("disagreement").frame()["disagreement"]
    known = of_images.dropna().astype(float)
    assert (len(of_images), bool(len(known)), known.between(0, 1).all()) == (20, True, True)


def test_pairs_of_systems_are_one_family_and_those_with_the_baseline_another(small: Path) -> None:
    for name, ranking in result_of(small).systems.items():
        names, pairs = ranking.ranking, ranking.comparisons.pairs
        assert [(p.a, p.b) for p in pairs] == list(combinations(names, 2))
        values = [ranking.scores[system].value or 0.0 for system in names]
        assert values == sorted(values, reverse=name != "mean rank")
        against, letters = ranking.against_baseline, ranking.letters()
        # two systems share a letter unless a test separates them
        for pair in pairs:
            apart = pair.is_significant(ranking.comparisons.alpha)
            assert apart == (not set(letters[pair.a]) & set(letters[pair.b]))
        assert ranking.baseline == "fair"
        assert {frozenset((p.a, p.b)) for p in against.pairs} == {
            frozenset((system, "fair")) for system in SMALL_SYSTEMS if system != "fair"
        }
        for family in (pairs, against.pairs):
            raw = [p.tests[0].p if p.tests[0].p is not None else np.nan for p in family]
            assert [p.tests[0].p_adjusted for p in family] == holm(raw).tolist()
        for pair in against.pairs:  # the better one is `a`
            other = pair.a if pair.b == "fair" else pair.b
            expected = {True: "better" if other == pair.a else "worse", False: ""}
            assert ranking.against(other) == expected[pair.is_significant()], name
    assert numbers(small, "ROUGE-L").against("good") == "better"
    assert numbers(small, "CIDEr").against("mute") == "worse"


def test_equal_systems_share_rank_and_letters(
    tiny: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = f"captions={{a: {tiny}/parrot.json, b: {tiny}/parrot.json, c: {tiny}/mute.json}}"
    ranks = numbers(run(tiny, given), "mean rank").scores
    assert {name: rank.value for name, rank in ranks.items()} == {"a": 1.5, "b": 1.5, "c": 3}
    assert numbers(tiny / "out", "ROUGE-L").comparisons.between("a", "b").tests[0].p == 1
    assert re.findall(r"(\w+) has no caption of (\d+)", capsys.readouterr().out) == [("c", "2")]


def test_the_page_has_letters_examples_and_no_markup_of_captions(small: Path) -> None:
    path = write_report(small, examples=4, figures=False)
    first = path.read_bytes()
    assert write_report(small, examples=4, figures=False).read_bytes() == first
    html = first.decode()
    for text in (
        "Against the baseline, fair, by mean rank",
        "&lt;b&gt;poor",
        "skipped: no image f",
    ):
        assert text in html
    assert [text for text in (HOSTILE, "<b>poor") if text in html] == []
    order = [int(image) for image in re.findall(r'<p class="id">(\d+)</p>', html)]
    rows = result_of(small).extra("disagreement").records
    known = {r["image_id"]: -1 if r["disagreement"] is None else r["disagreement"] for r in rows}
    assert sorted(order) == sorted(known)
    assert [known[image] for image in order] == sorted(known.values(), reverse=True)
    best = re.findall(r"<dt>best by</dt><dd>([^<]*)</dd>", html)
    scores = results.read_run_table(small / results.SCORES)
    of_image = scores[(scores["image_id"] == order[0]) & (scores["set"] != "Human")]
    for part in best[0].split(
        "; "
    ):  # the metrics of which this system alone has the greatest score
        system, _, metrics = part.partition(": ")
        for metric in metrics.split(", "):
            by_system = of_image[of_image["metric"] == metric].set_index("set")["score"]
            assert [s for s, v in by_system.items() if v == by_system.max()] == [system]
    table = list(csv.reader((small / results.TABLES / "systems.csv").open()))
    letters = numbers(small, "CIDEr").letters()
    column = table[0].index("CIDEr")
    assert all(letters[row[0]] in row[column].rpartition("] ")[2] for row in table[1:])


def test_what_does_not_fit_is_left_out_and_counted(small: Path) -> None:
    html = write_report(small, max_bytes=12_000, figures=False).read_text(encoding="utf-8")
    kept = html.count('<p class="id">')
    assert 1 < kept < 20
    assert f"{kept} of 20 images, those first" in html


def test_a_run_whose_metrics_are_all_skipped_has_a_page(tmp_path: Path) -> None:
    with pytest.raises(StrictError, match="no metric has scores: clipscore skipped: "):
        write_captioners_run(tmp_path, 4, "metric=[clipscore]")
    html = write_report(tmp_path / "run", figures=False).read_text(encoding="utf-8")
    assert "No metric has a value." in html


def test_a_metrics_agreement_is_its_mean_tau_b_with_the_others(small: Path) -> None:
    """Kendall's τ-b of the systems' scores, by scipy; to 1e-12."""
    result = result_of(small)
    names = [row["metric"] for row in result.extra("agreement-systems").records]
    scores = {
        name: [e.value for _, e in sorted(result.systems[name].scores.items())] for name in names
    }
    for name in names:
        others = [kendalltau(scores[name], scores[o]).statistic for o in names if o != name]
        value = result.metric(name).numbers.value("mean_tau_b")
        assert value == pytest.approx(np.nanmean(others), abs=1e-12), name
    assert len(names) > 2


def test_the_replicates_suffice_for_mean_ranks_of_eleven_systems() -> None:
    """The least p-value of all pairs of replicates, after Holm's correction over 55 pairs."""
    replicates = compose_config(["experiment=captioners"]).stats.replicates
    assert 55 * 2 / (replicates + 1) < 0.05


@pytest.mark.parametrize(
    ("sentences", "cut"),
    [(30, ["CLIPScore (scenes)"]), (80, ["BERTScore (MiniLM)", "CLIPScore (scenes)"])],
)
def test_captions_that_were_cut_are_said_with_their_share(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], sentences: int, cut: list[str]
) -> None:
    """A sentence has seven tokens; CLIP reads 77 and MiniLM 512."""
    data = load_scenes(n=2)
    (tmp_path / "systems").mkdir()
    for name, text in (("short", ""), ("long", " A dog sits near a tree." * sentences)):
        captions = [
            {"image_id": i, "caption": f"{human}{text}"}
            for i, human in zip(data.image_ids, data.human, strict=True)
        ]
        write_json(tmp_path / "systems" / f"{name}.json", captions)
    config = composed(
        tmp_path, "experiment=captioners", "dataset=scenes", "dataset.n=2", "controls=[]",
        "metric=[clipscore,bertscore]", "report.figures=false", f"captions={tmp_path / 'systems'}",
    )  # fmt: skip
    run_configured(config, tmp_path / "OUT")
    said = "2 of 4 captions cut to the model's length (50.0%)"
    printed = re.findall(rf"(\w+ \(\w+\)): {re.escape(said)}", capsys.readouterr().out)
    page = (tmp_path / "OUT" / "report.html").read_text(encoding="utf-8")
    assert (sorted(printed), page.count(said.replace("'", "&#39;"))) == (cut, len(cut))
