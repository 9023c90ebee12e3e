"""Files of benchmarks that are refused, and options that make no sense: of each loader the line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import loadmat, savemat

from metaeval.data.annotated_images import annotated_images
from metaeval.data.coco.load import load_auto, load_coco
from metaeval.data.identity import sources_of
from metaeval.data.judgments.battles import load_battles, load_captioner_battles
from metaeval.data.judgments.benchmarks import load_composite, load_crowd, load_expert, load_thumb
from metaeval.data.judgments.pascal50s import load_pascal50s
from metaeval.data.judgments.systems import load_coco2015, load_systems
from metaeval.data.own.captions import load_own
from metaeval.data.pairs.benchmarks import (
    load_discourse_foil,
    load_foil,
    load_rococo,
    load_sugarcrepe,
    load_valse,
)
from metaeval.data.pairs.iiw import load_iiw
from metaeval.data.pairs.pairs import load_pairs_table
from metaeval.data.scenes import load_scenes
from metaeval.data.system_captions import find_system_files
from metaeval.errors import ConfigError, InputError
from tests.data.coco.test_files import captions_of as write_captions
from tests.data.judgments import test_battles, test_judgments as judged, test_systems
from tests.data.pairs import pair_files, test_iiw, test_pairs
from tests.data.table_files import write

Make = Callable[[Path], object]
Row = tuple[Make, Callable[..., Any], dict[str, Any], str]


def nothing(folder: Path) -> None:
    pass


def files(**content: Any) -> Make:
    """Writes files; `__` in a name is a folder, `_` a point."""

    def make(folder: Path) -> None:
        for name, value in content.items():
            write(folder / name.replace("__", "/").replace("_", "."), value)

    return make


def root(load: Callable[..., Any]) -> Callable[..., Any]:
    return lambda folder, **options: load(root=folder, **options)


def data(load: Callable[..., Any]) -> Callable[..., Any]:
    return lambda folder, **options: load(data=folder, **options)


def of_file(load: Callable[..., Any], name: str) -> Callable[..., Any]:
    return lambda folder, **options: load(folder / name, **options)


SIDES = "iiw-human-sxs-iiw-p5b"


def then(make: Make, name: str, content: Any) -> Make:
    """Files of which one is written anew; a function has the bytes that are there."""

    def both(folder: Path) -> None:
        make(folder)
        before = (folder / name).read_bytes() if callable(content) else b""
        write(folder / name, content(before) if callable(content) else content)

    return both


def renamed(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    return lambda raw: raw.replace(old, new)


def other_pairs(folder: Path) -> None:
    judged.pascal50s(folder)
    inputs = np.array(
        [[("x.jpg", "other", "pair"), ("y.jpg", "a", "b")]],
        dtype=[(name, object) for name in ("name", "sent1", "sent2")],
    )
    savemat(folder / "pair_pascal.mat", {"new_input": inputs, "category": [[1, 4]]})


def voted(vote: Any) -> Make:
    """PASCAL-50S with another vote in a triplet."""

    def make(folder: Path) -> None:
        judged.pascal50s(folder)
        triplets = loadmat(folder / TRIPLETS)["triplets"]
        triplets[0, 50]["winner"] = vote if isinstance(vote, str) else np.array([[vote]])
        savemat(folder / TRIPLETS, {"triplets": triplets})

    return make


def crepe(folder: Path) -> None:
    pair_files.sugarcrepe(pair_files.coco(folder))


def foil(**changes: object) -> Make:
    return lambda folder: test_pairs.foil(pair_files.coco(folder), **changes)


EXPERT, CROWD = "ExpertAnnotations.txt", "CrowdFlowerAnnotations.txt"
FLICKR = judged.flickr8k_files
PAIR = {"filename": "000000000139.jpg", "caption": "a", "negative_caption": "b"}
MAT, TRIPLETS = "pair_pascal.mat", "consensus_pascal.mat"
ROCOCO = "COCO_val2014_000000000139.jpg"
CAPTIONS = files(c_csv="image_id,caption\n1,x\n")
C = of_file(load_own, "c.csv")
REFUSED: list[Row] = [
    (
        FLICKR,
        root(load_expert),
        {"protocol": "spice"},
        r"protocol: 'spice' is not one of clipscore",
    ),
    (FLICKR, root(load_expert), {"ratings": "median"}, r"expert\.ratings: 'median' is not one of"),
    (FLICKR, root(load_expert), {"n_references": 0}, r"expert\.n_references: 0 "),
    (FLICKR, root(load_expert), {"draw": "first"}, r"expert\.draw: 'first' "),
    (FLICKR, root(load_crowd), {"limit": 0}, "limit"),
    *(
        (then(FLICKR, file, f"{line}\n"), root(load), {}, problem)
        for load, file, line, problem in (
            (load_expert, EXPERT, "a.jpg\tb.jpg#2\t1\t1", r"line 1: has 4 tab-separated fields"),
            (load_expert, EXPERT, "a.jpg\tb.jpg#2\t1\t1\tx", r"field 'expert 3': 'x' is not a n"),
            (load_expert, EXPERT, "z.jpg\tb.jpg#2\t1\t1\t1", r"no caption of 'z.jpg'"),
            (load_expert, EXPERT, "a.jpg\tb.jpg#9\t1\t1\t1", r"no caption of 'b.jpg#9' is in Fl"),
            (load_crowd, CROWD, "a.jpg\tb.jpg#2\t0.5\t1\t2", r"0.5 is not the share of 1 y"),
            (
                load_expert,
                "Flickr8k.token.txt",
                "a.jpg#1\tx\na.jpg#1\ty",
                r"line 2.*'a.jpg#1' occurs twice",
            ),
        )
    ),
    (nothing, root(load_composite), {}, "imagesdg.wordpress.com"),
    (nothing, root(load_thumb), {}, "github.com/jungokasai/THumB"),
    (nothing, root(load_pascal50s), {}, "vrama91.github.io/cider"),
    (
        judged.composite,
        root(load_composite),
        {"subsets": ["50k", "9k"]},
        r"subsets\[0\]: '50k' is not one of 8k, 30k, coco; .*'9k' is not one of",
    ),
    (
        judged.composite,
        root(load_composite),
        {"systems": ["human"]},
        r"dataset\.systems: 'human' not among Human, Karp",
    ),
    # all of its first captions are among the references; where most are not, these are others
    (
        then(
            judged.composite,
            "results_20130124.token",
            "77.jpg#0\tA car .\n77.jpg#1\tA ship .\n",
        ),
        root(load_composite),
        {},
        r"results_20130124\.token: holds the first caption of 0 ",
    ),
    (
        judged.thumb,
        root(load_thumb),
        {"systems": ["Up", "Up-Down", "Down"]},
        "'Up', 'Down' not among Human, Up-Down, VinVL-base",
    ),
    (
        then(judged.thumb, "mscoco_references.json", '{"seg_id": "974", "refs": "A dog."}\n'),
        root(load_thumb),
        {},
        r"line 1, field 'refs': is not a list of strings",
    ),
    (
        judged.pascal50s,
        root(load_pascal50s),
        {"labels": "both"},
        r"load_pascal50s\.labels: 'both' is not one of ",
    ),
    (judged.pascal50s, root(load_pascal50s), {"n_references": 50}, "from 1 to 48"),
    (other_pairs, root(load_pascal50s), {}, r"triplet 1: its captions are not those of pair 1"),
    *(
        (then(judged.pascal50s, file, content), root(load_pascal50s), {"labels": "direct"}, problem)
        for file, content, problem in (
            (MAT, "no matlab", "not a readable MATLAB file"),
            (MAT, renamed(b"sent1\0", b"sent9\0"), r"new_input 1, field 'sent1': is missing"),
            (MAT, renamed(b"result\0\0", b"resold\0\0"), r"field 'result': .* is missing"),
            (
                TRIPLETS,
                renamed(b"winner\0", b"loser\0\0"),
                r"triplet 1, field 'winner': is missing",
            ),
        )
    ),
    *(
        (voted(vote), root(load_pascal50s), {}, r"triplet 51, field 'winner': must be 1 or -1, not")
        for vote in (7, 0, np.nan, "x")
    ),
    # ratings off the scale
    *(
        (then(make, file, renamed(old, new)), root(load), options, problem)
        for make, load, options, file, old, new, problem in (
            (
                *(FLICKR, load_expert, {}, EXPERT, b"\t1\t1\t2", b"\t-1\t1\t2"),
                r"line 1, field '.*': '-1' is not on the scale 1…4",
            ),
            (
                *(FLICKR, load_expert, {}, EXPERT, b"\t1\t1\t2", b"\t1\t1\t5"),
                "'5' is not on the scale 1…4",
            ),
            (
                *(FLICKR, load_crowd, {}, CROWD, b"0.333333333333333", b"1.75"),
                "line 2, field '.*': '1.75' is not on the scale 0…1",
            ),
            (
                *(judged.composite, load_composite, {"subsets": ["8k"]}),
                *("8k_correctness.csv", b";1;2;3\n", b";9;2;3\n"),
                "line 2, field 'Answer.Q1Answer': '9' is not on the scale 1…5",
            ),
            (
                *(judged.thumb, load_thumb, {}, "mscoco_THumB-1.0.jsonl"),
                *(b'"human_score": 3.4', b'"human_score": 99'),
                "line 1, field 'human_score': 99 is not on the scale up to 5",
            ),
            (
                *(judged.thumb, load_thumb, {}, "mscoco_THumB-1.0.jsonl"),
                *(b'"seg_id": "974", ', b""),
                "line 1, field 'seg_id': is missing",
            ),
        )
    ),
    (nothing, data(load_sugarcrepe), {}, r"^replace_obj.json, replace_att.json, .*add_att.json: n"),
    *(
        (crepe, data(load_sugarcrepe), options, problem)
        for options, problem in (
            ({"kinds": ["swap", "odd", "add_obj"]}, "dataset.kinds: 'swap', 'odd' not am"),
            ({"near_copies": "maybe"}, "crepe.near_copies: 'maybe' is not one of (keep|drop), "),
            ({"limit": 0}, "limit"),
            ({"captions": "none.json"}, "not found; correct dataset.captions"),
        )
    ),
    *(
        (then(crepe, "sugarcrepe/swap_obj.json", value), data(load_sugarcrepe), {}, problem)
        for value, problem in (
            (
                {"0": {**PAIR, "filename": "dog.jpg"}},
                "record '0', field 'filename': 'dog.jpg' is not the name of one",
            ),
            ({"0": {**PAIR, "caption": None}}, "'0', field 'caption': is null, not a string"),
            ({"0": {"filename": "a", "caption": "b"}}, "field 'negative_caption': is missing"),
            (7, "holds a number where records are expected"),
        )
    ),
    *(
        (
            files(valse__plurals_json={"a": record}),
            data(load_valse),
            {"kinds": ["plurals"]},
            r"plurals\.json, record 'a', field 'mturk': does not say how many",
        )
        for record in ({"mturk": {"caption": 7}}, {})
    ),
    *(
        (foil(**changes), data(load_foil), {}, problem)
        for changes, problem in (
            ({"foil": "yes"}, r"annotations\[1\], field 'foil': is not true or false"),
            ({"image_id": "x"}, r"field 'image_id': 'x' is not a COCO id"),
            ({"foil": False}, r"\[1\], field 'id': another caption has the id 7"),
            ({"image_id": 285}, "of the image 285 has the id 7 of a caption of the image 139"),
        )
    ),
    (
        files(
            **{"DiscourseFOIL-200_json": [{"human_corrected_hall_caption": "a", "fixed": "true"}]}
        ),
        root(load_discourse_foil),
        {},
        r"record 0.*'hall_caption'",
    ),
    *(
        (files(danger_json=[record]), root(load_rococo), {"kinds": kinds}, problem)
        for record, kinds, problem in (
            ({"image": "val2014/x.jpg", "caption": ["a"]}, ["danger"], "record 0, field 'image'"),
            ({"image": ROCOCO, "caption": ["a"]}, ["danger"], "a list of true captions"),
            ({}, ["rand_voca"], "rand_voca.json: not there"),
        )
    ),
    *(
        (files(p_json=[record]), of_file(load_pairs_table, "p.json"), {}, problem)
        for record, problem in (
            ({"image_id": 1, "true": "A dog."}, r"field 'false': is missing; the columns are"),
            ({"image_id": 1, "tru": "x", "fals": "y"}, r"field 'true', 'false': is missing"),
            ({"image_id": 1, "true": "A dog.", "false": []}, r"field 'false': holds no caption"),
            ({"image_id": 1, "true": 3, "false": "x"}, r"field 'true': is a number, not a string"),
            ({"image_id": None, "true": "a", "false": "b"}, r"a printable string, not None"),
            (
                {"image_id": "x", "true": "a", "false": "b"},
                r"none of the images of the 1 pairs has",
            ),
        )
    ),
    (nothing, lambda _: load_pairs_table(), {}, "dataset=pairs needs a file"),
    (nothing, lambda _: load_battles(), {}, "needs a file"),
    *(
        (then(test_iiw.make, f"iiw/{name}.jsonl", [record]), data(load_iiw), options, problem)
        for name, record, options, problem in (
            (
                "docci_test",
                test_iiw.DOCCI[0] | {"metrics/Specificity": "GPT-4V is marginally better"},
                {},
                r"docci_test.jsonl, line 1, field 'metrics/Specificity': 'GPT-4V is marginally "
                r"better' is not a judgement; write 'Neutral', 'DOCCI is marginally better'",
            ),
            ("docci_test", test_iiw.DOCCI[0] | {"metrics/Human Like": 3}, {}, "3 is not a judge"),
            ("docci_test", test_iiw.DOCCI[0] | {"IIW": None}, {}, "'IIW': is null, not a string"),
            ("docci_test", {}, {}, "line 1, field 'image': is missing"),
            ("iiw400", test_iiw.IIW400[0] | {SIDES: 1}, {}, "is a number, not an object"),
            ("iiw400", test_iiw.IIW400[0] | {SIDES: {}}, {}, "'metrics/Compreh.*': is missing"),
            ("iiw400", test_iiw.IIW400[1], {"subsets": ["iiw400"]}, "holds no battle"),
        )
    ),
    (nothing, data(load_iiw), {}, r"docci_test.jsonl, iiw400.jsonl: not there.*imageinwords"),
    (nothing, data(load_iiw), {"aspects": ["length"]}, r"aspects\[0\]: 'length' is not one of"),
    (nothing, data(load_iiw), {"subsets": ["x"]}, r"subsets\[0\]: 'x' is not one of docci_test"),
    (
        nothing,
        data(load_battles),
        {"layout": "caparena"},
        r"caparena_annots_eval.json.*github.com/njucckevin",
    ),
    (
        files(b_json=test_battles.ROWS),
        of_file(load_battles, "b.json"),
        {"winners": {"1": "me"}},
        r"winners.*'me' is not one of first, second",
    ),
    (
        files(
            c_json={
                "images": [{"id": 1}],
                "annotations": [{"id": 1, "image_id": 1, "caption": "a"}],
            },
            x_json=[{"image_id": 1, "caption": "a"}],
        ),
        lambda f: load_captioner_battles([str(f / "x.json")], references=f / "c.json"),
        {},
        "a battle needs two",
    ),
    *(
        (files(t_json=test_systems.ROWS), of_file(load_systems, "t.json"), options, problem)
        for options, problem in (
            ({"human": ["stars"]}, r"dataset\.human: 'stars' not among system, human"),
            ({"without": ["three"]}, r"dataset\.without: 'three' not among Human, one, two"),
            ({"controls": ["human"]}, r"dataset\.controls: 'human' not among CIDEr, TER"),
        )
    ),
    (
        files(t_json=[{"system": "a", "CIDEr": 1}]),
        of_file(load_systems, "t.json"),
        {},
        r"dataset\.human: name columns",
    ),
    (
        test_systems.make_leaderboards,
        data(load_coco2015),
        {"human": ["M6"]},
        r"load_coco2015\.human\[0\]: 'M6' is not one of M1",
    ),
    (nothing, lambda _: load_own(), {}, "dataset=own needs a file"),
    (CAPTIONS, C, {"limit": 0}, r"load_own\.limit: 0 is not a whole number"),
    (CAPTIONS, C, {"splt": "test"}, r"load_own\.splt: unknown option; did you mean 'split'"),
    (CAPTIONS, C, {"split": "test"}, "this one has no splits"),
    (CAPTIONS, C, {"images": "none"}, r"correct dataset\.images"),
    *(
        (make, lambda folder: load_own(images=folder / "x"), {}, problem)
        for make, problem in (
            (files(x__a_gif="", x__a_jpeg=""), r"a\.gif and a\.jpeg are both image a"),
            (nothing, "folder not found"),
            (files(x__notes_txt=""), "holds no image file"),
        )
    ),
    *(
        (nothing, lambda _, given: find_system_files(given), {"given": given}, "captions=FOLDER")
        for given in (None, "", [], {})
    ),
    *(
        (files(a_json=[], x__a_json=[], y__notes_txt=""), load, {}, problem)
        for load, problem in (
            (lambda f: find_system_files(str(f / "gone.json")), "file not found"),
            (lambda f: find_system_files(str(f / "y")), r"holds no table .*\.json"),
            (lambda f: find_system_files([str(f / "a.json"), str(f / "x")]), "are called 'a'"),
        )
    ),
    (
        nothing,
        lambda f: load_coco(split="mine", download=True, cache=f),
        {},
        "can fetch the splits",
    ),
    (nothing, lambda f: load_coco(root=None, data=f, download=True), {}, "needs a cache folder"),
    (nothing, lambda f: load_auto(root=f / "nowhere", data=f), {}, "were not found"),
    *(
        (
            lambda folder: write_captions(folder / "captions_x.json", [1]),
            of_file(lambda path, **o: load_coco(captions=path, **o), name),
            options,
            problem,
        )
        for name, options, problem in (
            ("nothing.json", {}, r"no file .*nothing\.json"),
            ("captions_x.json", {"images": "none"}, r"folder not found; correct dataset\.images"),
            ("captions_x.json", {"instances": "none"}, r"not found; correct dataset\.instances"),
            ("captions_x.json", {"exclude": "nil"}, r"dataset\.exclude=nil: .* were not found"),
            ("captions_x.json", {"exclude": "no.json"}, r"not found; correct dataset\.exclude"),
            *(("captions_x.json", {"limit": bad}, r"coco\.limit") for bad in (0, -1, True, 1.5)),
        )
    ),
    (nothing, lambda _: annotated_images({}, "none.json"), {}, r"correct dataset\.instances"),
    *(
        (
            nothing,
            lambda _, declared, image: sources_of([image], {}, declared=declared),
            of,
            problem,
        )
        for of, problem in (
            ({"declared": "coco", "image": "٧"}, "'٧' is not a COCO id"),
            ({"declared": "coco", "image": "b7"}, "'b7' is not a COCO id"),
            ({"declared": "flickr", "image": 1}, "'flickr' is not one of coco, other"),
        )
    ),
    *(
        (nothing, lambda _, **options: load_scenes(**{"n": 1, **options}), options, problem)
        for options, problem in (
            ({"split": "test"}, "scenes.split: 'test' is not one of val, dev, train"),
            ({"n": 0}, "n: 0 is not a whole number"),
            ({"n": True}, "n: true is not a whole number"),
            ({"limit": 0}, "load_scenes.limit: 0 is not"),
            ({"n_references": 0}, "load_scenes.n_references: 0 is"),
            ({"n_references": 5}, "load_scenes.n_references: 5 is"),
            ({"size": 8}, "load_scenes.size: 8 is not"),
            ({"n": 5001}, "dataset.n: 5,001 is more than the 5,000 scenes of 'val'"),
            (
                {"n": 1001, "split": "dev"},
                "dataset.n: 1,001 is more than the 1,000 scenes of 'dev'",
            ),
        )
    ),
]


@pytest.mark.parametrize("row", range(len(REFUSED)))
def test_what_makes_no_sense_is_named_in_one_line(
    row: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("METAEVAL_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    make, load, options, problem = REFUSED[row]
    make(tmp_path)
    with pytest.raises((ConfigError, InputError), match=problem) as refused:
        load(tmp_path, **options)
    assert "\n" not in str(refused.value)
