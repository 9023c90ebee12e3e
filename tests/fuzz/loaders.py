"""The table of loaders: every way by which bytes of a file come into the project.

One entry makes a small valid file or folder, reads it as the project does, and reads it strictly
(`tests/fuzz/strict.py`). To add a loader, add an entry here: `tests/fuzz/test_loaders.py` fails for
a module that reads files and is not reached by any.
"""

from __future__ import annotations

import base64
import io
import pickle
import struct
import warnings
import zipfile
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import torch
from PIL import Image
from safetensors.torch import save_file
from scipy.io import loadmat, savemat

import metaeval
from metaeval.data.coco.load import load_coco
from metaeval.data.coco.objects import CocoObjects
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.data.image_files import decoded, digests
from metaeval.data.judgments import composite, flickr8k, pascal50s, table, thumb
from metaeval.data.own.captions import load_own
from metaeval.data.system_captions import read_system_captions
from metaeval.errors import InputError
from metaeval.metrics.bertscore.metric import baseline_f1
from metaeval.metrics.scan.network import Scan, ScanShape, load_checkpoint
from metaeval.metrics.scan.weights import choose_weights
from metaeval.metrics.vifidel.metric import read_labels
from metaeval.readers.checkpoints import load_safetensors, load_torch_checkpoint, load_weights
from metaeval.readers.images import open_image
from metaeval.readers.torch_archive import read_torchscript
from metaeval.reports.__main__ import main as write_page
from metaeval.text.transformers.locate import TextModel, check_folder
from metaeval.text.vocabulary import Vocabulary
from metaeval.text.word_vectors.base import VectorFile
from metaeval.training.loop import Progress, read_state, write_state
from metaeval.vision.regions.bottomup import BottomUpRegions
from metaeval.vision.regions.gold import GoldRegions
from metaeval.weights import cards
from tests.fuzz import base, strict
from tests.fuzz import pairs_and_own as own
from tests.fuzz.base import Loader, Read, lines, one_file, tables, write
from tests.fuzz.joins_and_folders import JOINED_LOADERS
from tests.fuzz.judges_and_audits import JUDGE_LOADERS
from tests.metrics.scan import scan_cases
from tests.reports.run_files import IMAGES, write_run

CAPTIONS = ("a dog runs, fast", "two “cats” on a bed", 'a "red" car', "un café", "犬 runs")
WORDS = ["dog", "cat", "car", "犬"]
ROWS = np.array([[3, 4, 0], [0, -2, 0.5], [1, 1, 1], [0.25, 0, -0.125]], dtype=np.float32)
IDS = (7, 42, 99)
FEATURES = np.arange(3 * 4 * 8, dtype=np.float32).reshape(3, 4, 8) / 7 - 3
BOXES = np.tile(np.array([0.1, 0.2, 0.5, 0.9], np.float32), (3, 4, 1))


# COCO's files


COCO_CAPTIONS = {
    "images": [{"id": i, "file_name": f"{i:012d}.jpg"} for i in IDS],
    "annotations": [
        {"id": 10 * i + k, "image_id": i, "caption": text}
        for i in IDS for k, text in enumerate(CAPTIONS)
    ],
}  # fmt: skip
COCO_OBJECTS = {
    "images": [{"id": i, "width": 640, "height": 480} for i in IDS],
    "categories": [{"id": 1, "name": "dog"}, {"id": 2, "name": "traffic light"}],
    "annotations": [
        {"id": 10 * i + k, "image_id": i, "category_id": 1 + k % 2, "iscrowd": int(k == 2),
         "bbox": [10 * k, 5.5, 100, 200]}
        for i in IDS for k in range(3)
    ],
}  # fmt: skip
OF_SYSTEM = [{"image_id": i, "caption": CAPTIONS[k]} for k, i in enumerate(IDS)]


def captions_of(data: CaptionDataset) -> Any:
    return [
        [i, human, *references]
        for i, human, references in zip(data.image_ids, data.human, data.references, strict=True)
    ]


def strict_captions(path: Path) -> Any:
    return [(i, *captions[:2]) for i, captions in strict.coco_captions(path)]


def read_objects(path: Path) -> Any:
    return [
        (i, [[n, *box] for n, box in zip(one.labels, one.boxes.tolist(), strict=True)])
        for i, one in CocoObjects(path).items()
    ]


# tables of judgements


JUDGED = [
    {"image_id": f"{i}.jpg", "candidate": CAPTIONS[k], "references": list(CAPTIONS[:2]),
     "human": 1.5 + k, "system": "one"}
    for k, i in enumerate((1, 2, 3, 4))
]  # fmt: skip


def make_table(path: Path) -> None:
    """As pandas writes it: in CSV lists have Python's form."""
    if path.suffix == ".csv":
        pd.DataFrame(JUDGED).to_csv(path, index=False)
    else:
        write(path, JUDGED)


def judged_values(judgments: Any) -> Any:
    return [
        (j.image, j.candidate, list(j.references), [float(v) for d in j.human.values() for v in d],
         j.system)
        for j in judgments.judged
    ]  # fmt: skip


def read_table(path: Path) -> Any:
    return judged_values(table.load_table(file=path, image_source="other", data=path.parent))


def tokens(captions: Sequence[str]) -> str:
    return lines([f"{i}.jpg#{k}\t{text}" for i in (1, 2) for k, text in enumerate(captions)])


WORD_MARKS = [
    {"image_id": i, "candidate": text, "references": [CAPTIONS[0]],
     "words": [[w, k == i] if i % 2 else int(k == i) for k, w in enumerate(text.split())]}
    for i, text in zip((1, 2, 3), CAPTIONS, strict=False)
]  # fmt: skip


def read_word_marks(path: Path) -> Any:
    loaded = table.load_table(file=path, image_source="other", data=path.parent)
    return [
        (*row[:3], [bool(v) for v in row[3]], list(j.wrong))
        for row, j in zip(judged_values(loaded), loaded.judged, strict=True)
    ]


EXPERT, CROWD = "ExpertAnnotations.txt", "CrowdFlowerAnnotations.txt"


def make_flickr8k(folder: Path) -> None:
    write(folder / "Flickr8k.token.txt", tokens(CAPTIONS))
    for name, ratings in ((EXPERT, ("124", "334", "444")), (CROWD, ("0 0 3", "0.75 3 1", "1 3 0"))):
        judged = ("1.jpg\t2.jpg#1", "2.jpg\t2.jpg#2", "1.jpg\t1.jpg#0")
        cells = ["\t".join(r.split() if " " in r else r) for r in ratings]
        rows = [f"{who}\t{given}" for who, given in zip(judged, cells, strict=True)]
        write(folder / name, lines(rows))


def read_flickr8k(load: Any) -> Read:
    return lambda folder: judged_values(load(root=folder, data=folder, own_captions="keep"))


def make_thumb(folder: Path) -> None:
    rated = [
        {"SYS": "one", "seg_id": str(i), "hyp": CAPTIONS[k], "image": f"COCO_val2014_{i:012d}.jpg",
         "P": 4.0, "R": 3.0, "Fl": -0.5, "Con": 0.0, "Inc": 0.0, "human_score": 3.0}
        for k, i in enumerate(IDS)
    ]  # fmt: skip
    references = [{"seg_id": str(i), "refs": list(CAPTIONS[:3])} for i in IDS]
    for name, rows in (("mscoco_THumB-1.0.jsonl", rated), ("mscoco_references.json", references)):
        (folder / name).write_text("\n".join(map(base.as_json, rows)), encoding="utf-8")


def read_thumb(folder: Path) -> Any:
    return judged_values(thumb.load_thumb(root=folder, data=folder, dimensions=["total"]))


def make_composite(folder: Path) -> None:
    head = ["Input.image_url", *(f"Input.text{k}" for k in (1, 2, 3))]
    head += [f"Answer.Q{k}Answer" for k in (1, 2, 3)]
    texts = f"{CAPTIONS[0]};a machine wrote;another, too"
    rows = [f"http://x.org/{i}.jpg;{texts};5;1;3" for i in (1, 2)]
    text = lines([";".join(head), *rows, ";" * (len(head) - 1)])
    (folder / "8k_correctness.csv").write_text(text, encoding="utf-8")
    make_flickr8k(folder)


def read_composite(folder: Path) -> Any:
    options = {"root": folder, "data": folder, "own_captions": "keep"}
    return judged_values(composite.load_composite(subsets=["8k"], **options))


def strict_composite(folder: Path) -> Any:
    references: dict[str, list[str]] = {}
    for name, words in strict.tab_rows(folder / "Flickr8k.token.txt", 2):
        stem = Path(name.split("#")[0]).stem
        references.setdefault(stem, []).append(strict.caption(words))
    rated: dict[tuple[str, int, str], list[float]] = {}
    for row in strict.csv_rows(folder / "8k_correctness.csv", ";"):
        strict.require("Input.image_url" in row)
        name = Path(row["Input.image_url"].strip()).name
        for k in (1, 2, 3) if name else ():
            if text := row.get(f"Input.text{k}", "").strip():
                rating = strict.number(row.get(f"Answer.Q{k}Answer"), 1, 5)
                strict.require(Path(name).stem in references)
                rated.setdefault((name, k, strict.caption(text)), []).append(rating)
    system = {1: "Human", 2: "Karpathy", 3: "SDG"}
    return [
        (f"8k/{name}", text, references[Path(name).stem], ratings, system[k])
        for (name, k, text), ratings in rated.items()
    ]


def strict_tokens(path: Path) -> Any:
    captions: dict[tuple[str, int], str] = {}
    for line in strict.text(path).split("\n"):
        if line.strip():
            name, tab, text = line.rstrip("\r").partition("\t")
            file, _, number = name.rpartition("#")
            strict.require(tab and number.isascii() and number.isdigit() and strict.caption(text))
            strict.require((file, int(number)) not in captions)
            captions[file, int(number)] = strict.caption(text)
    files = {file for file, _ in captions}
    strict.require(len({Path(file).stem for file in files}) == len(files))
    return {
        Path(file).stem: [captions[key] for key in sorted(captions) if key[0] == file]
        for file in files
    }


OWN = [{"image_id": f"{i}.jpg", "caption": text} for i in (1, 2) for text in CAPTIONS[:3]]


def read_own(path: Path) -> Any:
    data = load_own(path, split="all" if path.name == "karpathy.json" else None)
    return {str(i): captions for i, *captions in captions_of(data)}


def make_pascal(folder: Path) -> None:
    inputs = np.zeros((1, 4), dtype=[(n, object) for n in ("name", "sent1", "sent2")])
    result = np.zeros((1, 4), dtype=[("result", object)])
    triplets = np.zeros((1, 4 * 48), dtype=[(n, object) for n in ("A", "B", "C", "winner")])
    for k in range(4):
        inputs[0, k] = (f"2008_00{k % 2}.jpg", CAPTIONS[0], f"a man {k}")
        result[0, k] = (np.array([[1, -1, 1]]),)
        for j in range(48):
            winner = np.array([[1 if j % 3 else -1]])
            triplets[0, 48 * k + j] = (f"reference {j}", CAPTIONS[0], f"a man {k}", winner)
    pairs = {"new_input": inputs, "category": np.array([[1, 2, 3, 4]]), "result": result}
    savemat(folder / "pair_pascal.mat", pairs)
    savemat(folder / "consensus_pascal.mat", {"triplets": triplets}, do_compression=True)


def read_pascal(folder: Path) -> Any:
    pairs = pascal50s.load_pascal50s(root=folder, data=folder)
    other = pairs.other_votes  # a file may lack them
    direct = [None] * len(pairs) if other is None else other.tolist()
    votes = zip(pairs.votes.tolist(), direct, strict=True)
    return list(zip(pairs.image, pairs.first, pairs.second, pairs.references, votes, strict=True))


def direct_votes(result: Any) -> list[int]:
    votes = np.asarray(result).reshape(-1).tolist()
    strict.require(set(votes) <= {1, -1})
    return [votes.count(1), votes.count(-1)]


@strict.in_a_process
def strict_pascal(folder: Path) -> Any:
    pairs = loadmat(folder / "pair_pascal.mat", simplify_cells=True)
    triplets = loadmat(folder / "consensus_pascal.mat", simplify_cells=True)["triplets"]
    out = []
    strict.require(len(triplets) == 48 * len(pairs["new_input"]))
    results = pairs.get("result", [None] * len(pairs["new_input"]))
    for k, (one, seen) in enumerate(zip(pairs["new_input"], results, strict=True)):
        image, b, c = (strict.caption(one[n]) for n in ("name", "sent1", "sent2"))
        mine = triplets[48 * k : 48 * k + 48]
        strict.require(all(t["winner"] in (1, -1) for t in mine))
        first = sum((t["winner"] == 1) == (own.letters(t["B"]) == own.letters(b)) for t in mine)
        votes = ([first, 48 - first], seen and direct_votes(seen["result"]))
        references = tuple(strict.caption(t["A"]) for t in mine)
        out.append((image, b, c, references, votes))
    return out


# word vectors


VECTOR_LINES = [f"{w} {' '.join(map(repr, r))}" for w, r in zip(WORDS, ROWS.tolist(), strict=True)]
VECTOR_BYTES = b"4 3\n" + b"".join(
    w.encode() + b" " + row.tobytes() + b"\n" for w, row in zip(WORDS, ROWS, strict=True)
)


def write_gensim(path: Path, inside: bool) -> None:
    """KeyedVectors as gensim 4 writes them, without gensim: its class is put in by name."""
    held: dict[str, Any] = {
        "vector_size": 3, "index_to_key": list(WORDS), "mapfile_path": None,
        "key_to_index": {w: i for i, w in enumerate(WORDS)}, "next_index": 4,
        "vectors": ROWS if inside else None, "norms": None,
        "expandos": {"count": np.arange(4)}, "_log": [np.float64(1.5)],
    }  # fmt: skip
    raw = pickle.dumps(held, protocol=4)
    # PROTO, FRAME, then: class, no arguments, new object; the dictionary is its state
    body = b"cgensim.models.keyedvectors\nKeyedVectors\n)\x81" + raw[11:-1] + b"b."
    frame = b"\x80\x04\x95" + struct.pack("<Q", len(body))
    path.write_bytes(frame + body)
    if not inside:
        np.save(f"{path}.vectors.npy", ROWS)


def read_vectors(path: Path) -> Any:
    vectors = VectorFile(path, cache=path.parent / "cache").embed(WORDS)
    rows = zip(WORDS, vectors.rows, vectors.known, strict=True)
    return {word: row.tolist() for word, row, known in rows if known}


class Plain:
    """In place of gensim's classes."""


@strict.in_a_process
def strict_gensim(path: Path) -> Any:
    class Reader(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            if module.startswith("gensim"):
                return Plain
            strict.require(module.split(".")[0] in ("numpy", "_codecs", "collections"))
            return super().find_class(module, name)

    held = vars(Reader(io.BytesIO(path.read_bytes())).load())
    rows = held.get("vectors")
    if rows is None:
        rows = np.load(f"{path}.vectors.npy", allow_pickle=False)
    words = held["index_to_key"]
    strict.require(isinstance(words, list) and all(isinstance(w, str) for w in words))
    strict.require(rows.ndim == 2 and len(rows) == len(words) and rows.dtype.kind == "f")
    rows = rows.astype(np.float32)
    strict.require(all(np.isfinite(rows[i]).all() for i, w in enumerate(words) if w in WORDS))
    first = dict(reversed(list(zip(words, rows.tolist(), strict=True))))
    return strict.vectors(first, WORDS)


# regions


def make_regions(form: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        each = list(zip(IDS, FEATURES, BOXES, strict=True))
        if form == "npy":
            np.save(folder / "f.npy", FEATURES)
            np.save(folder / "boxes.npy", BOXES)
            write(folder / "f_ids.txt", lines(map(str, IDS)))
        elif form == "npz":
            np.savez_compressed(folder / "f.npz", features=FEATURES, image_ids=IDS, boxes=BOXES)
        elif form == "folder":
            (folder / "f").mkdir()
            for i, x, bbox in each[:2]:
                np.savez(folder / "f" / f"{i}.npz", x=x, bbox=bbox * 100, image_w=100, image_h=100)
            np.save(folder / "f" / f"{IDS[2]}.npy", FEATURES[2])
        elif form == "tsv":
            coded = [(i, *(base64.b64encode(a.tobytes()).decode() for a in (100 * b, x)))
                     for i, x, b in each]  # fmt: skip
            write(folder / "f.tsv", lines(f"{i}\t100\t100\t4\t{b}\t{x}" for i, b, x in coded))
        else:
            with h5py.File(folder / "f.h5", "w") as file:
                for i, x, b in each:
                    file.create_dataset(f"{i}_features", data=x, compression="gzip")
                    file[f"{i}_boxes"] = b

    return make


def read_regions(name: str, **options: str) -> Read:
    def read(folder: Path) -> Any:
        words = ("a",) * len(IDS)
        data = CaptionDataset("x", IDS, words, (words,) * len(IDS), IDS, words)
        paths = {key: folder / value for key, value in options.items()}
        regions = BottomUpRegions(folder / name, dim=8, **paths).load(data)
        return {
            str(i): regions.features[k][regions.mask[k]].tolist()
            for k, i in enumerate(IDS) if regions.mask[k].any()
        }  # fmt: skip

    return read


def regions_of(rows: dict[str, Any]) -> Any:
    for row in rows.values():
        strict.require(row.ndim == 2 and row.shape[1] == 8 and len(row))
        strict.require(row.dtype.kind in "fiu" and np.isfinite(row.astype(np.float32)).all())
    strict.require(rows)
    return {key: row.astype(np.float32)[:36].tolist() for key, row in rows.items()}


def strict_regions(form: str) -> Read:
    if form == "tsv":
        return lambda folder: regions_of(strict.regions_tsv(folder / "f.tsv", {*map(str, IDS)}))
    return strict.in_a_process(lambda folder: regions_of(library_regions(folder, form)))


def ids_of(text: str, n: int) -> list[str]:
    """Ids one per line; each of n images once, or all as often (once a caption)."""
    ids = [strict.compared_id(line.strip()) for line in text.split("\n") if line.strip()]
    times = Counter(ids)
    repeated = len(ids) != n and len(times) == n and len({*times.values()}) == 1
    return list(times) if repeated else ids


def of_images(features: Any, ids: list[str]) -> dict[str, Any]:
    """The first row of each image that is asked for."""
    strict.require(features.ndim == 3 and len(ids) == len(features))
    rows = dict(reversed(list(zip(ids, features, strict=True))))
    return {i: rows[i] for i in map(str, IDS) if i in rows}


def library_regions(folder: Path, form: str) -> dict[str, Any]:
    if form == "npy":
        features = np.load(folder / "f.npy", allow_pickle=False)
        boxes = np.load(folder / "boxes.npy", allow_pickle=False)
        out = of_images(features, ids_of(strict.text(folder / "f_ids.txt"), len(features)))
        strict.require(boxes.shape == (*features.shape[:2], 4))
        return out
    if form == "npz":
        with np.load(folder / "f.npz", allow_pickle=False) as archive:
            texts = [i.decode() if isinstance(i, bytes) else str(i)
                     for i in archive["image_ids"].tolist()]  # fmt: skip
            return of_images(archive["features"], [strict.compared_id(t.strip()) for t in texts])
    if form == "folder":
        out = {str(IDS[2]): np.load(folder / "f" / f"{IDS[2]}.npy", allow_pickle=False)}
        for i in map(str, IDS[:2]):
            with np.load(folder / "f" / f"{i}.npz", allow_pickle=False) as archive:
                name = next(n for n in ("x", "feat", "features") if n in archive.files)
                turned = "bbox" in archive.files and len(archive["bbox"]) != len(archive[name])
                out[i] = archive[name].T if turned else archive[name]
        return out
    with h5py.File(folder / "f.h5", "r") as file:
        return {str(i): file[f"{i}_features"][()] for i in IDS if f"{i}_features" in file}


# weights


def plain(state: Any) -> Any:
    """Tensors as (shape, numbers), everything else left out."""
    if isinstance(state, torch.Tensor):
        return [list(state.shape), state.double().reshape(-1).tolist()]
    if isinstance(state, dict):
        return {str(k): plain(v) for k, v in sorted(state.items(), key=lambda x: str(x[0]))}
    if isinstance(state, list | tuple):
        return [plain(v) for v in state]
    return None


def network() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.LayerNorm(2))


def make_checkpoint(older: bool) -> Callable[[Path], None]:
    value = {"epoch": 3, "state_dict": network().state_dict(), "opt": Namespace(x=1)}
    return lambda path: torch.save(value, path, _use_new_zipfile_serialization=not older)


def make_scripted(path: Path) -> None:
    with warnings.catch_warnings():  # PyTorch deprecates what writes the files that are read here
        warnings.simplefilter("ignore", FutureWarning)
        torch.jit.script(network()).save(str(path))


def loaded(state: Any, path: Path) -> Any:
    """The network's numbers after it has taken these."""
    model = network()
    load_weights(model, state, path)
    return plain(model.state_dict())


def read_checkpoint(path: Path) -> Any:
    value = load_torch_checkpoint(path)
    return loaded(value.get("state_dict") if isinstance(value, dict) else None, path)


def torch_value(path: Path) -> Any:
    with torch.serialization.safe_globals([Namespace]):
        return torch.load(path, weights_only=True)


def floats(state: dict[str, torch.Tensor]) -> Any:
    return {k: v.float() for k, v in state.items()}


@strict.in_a_process
def strict_checkpoint(path: Path) -> Any:
    return plain(floats(torch_value(path)["state_dict"]))


@strict.in_a_process
def strict_scripted(path: Path) -> Any:
    """The numbers of data/0 to data/3, in the order in which the module names them."""
    state = {}
    with zipfile.ZipFile(path) as archive:
        for number, (name, own) in enumerate(network().state_dict().items()):
            raw = archive.read(f"s/data/{number}")
            state[name] = torch.frombuffer(bytearray(raw), dtype=own.dtype).reshape(own.shape)
    return plain(state)


def make_scan(folder: Path) -> None:
    torch.manual_seed(0)
    model = Scan(ScanShape(dim=6, words=6, embed=4, word=3))
    value = {"epoch": 1, "model": [model.image.state_dict(), model.text.state_dict()],
             "best_rsum": 1.0, "opt": Namespace(raw_feature_norm="clipped_l2norm")}  # fmt: skip
    torch.save(value, folder / "model_best.pth.tar")
    write(folder / "vocab.json", VOCABULARY)


def read_scan(folder: Path) -> Any:
    model, words = load_checkpoint(folder / "model_best.pth.tar", folder / "vocab.json")
    states = [model.image.state_dict(), model.text.state_dict()]
    return [plain(states), words.words]


@strict.in_a_process
def strict_scan(folder: Path) -> Any:
    states = torch_value(folder / "model_best.pth.tar")["model"]
    return [plain(list(map(floats, states))), strict_vocabulary(folder / "vocab.json")[0]]


VOCABULARY_WORDS = ["<pad>", "<start>", "<end>", "<unk>", "dog", "犬"]
VOCABULARY = {
    "word2idx": {w: i for i, w in enumerate(VOCABULARY_WORDS)},
    "idx2word": {str(i): w for i, w in enumerate(VOCABULARY_WORDS)}, "idx": 6, "tokenizer": "ptb",
}  # fmt: skip


def read_vocabulary(path: Path) -> Any:
    words = Vocabulary.load(path)
    return [words.words, words.tokenizer]


def strict_vocabulary(path: Path) -> Any:
    value = strict.parsed(strict.text(path))
    numbers = value["word2idx"]
    strict.require(isinstance(numbers, dict))
    strict.require(all(type(n) is int for n in numbers.values()))
    strict.require(sorted(numbers.values()) == list(range(len(numbers))))
    words = tuple(sorted(numbers, key=numbers.__getitem__))
    strict.require(words[:4] == ("<pad>", "<start>", "<end>", "<unk>"))
    tokenizer = value.get("tokenizer", "nltk")
    strict.require(tokenizer in ("ptb", "nltk"))
    return [words, tokenizer]


def read_weights(folder: Path) -> Any:
    data = scan_cases.dataset()
    weights = choose_weights(str(folder / "w"), "", data, GoldRegions(), None)
    if isinstance(weights, Absent):  # what a run says in the metric's row
        raise InputError(str(weights), file=folder / "w")
    model, words = weights.load()
    return [plain(model.state_dict()), words.words, weights.seen.tolist()]


def read_cards(folder: Path) -> Any:
    """`doctor`'s line on a folder of weights, for any card."""
    (line,) = cards.shipped_lines(folder)
    if "cannot be used" in line:
        raise InputError(line, file=folder)
    assert line.isprintable()
    return "a line"


def strict_safetensors(path: Path) -> Any:
    arrays = strict.safetensors(path)
    strict.require(all(a.dtype.kind == "f" for a in arrays.values()))
    return plain({k: torch.from_numpy(a.astype(np.float32)) for k, a in arrays.items()})


def make_training(path: Path) -> None:
    model = network()
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    state = model.state_dict()
    progress = Progress(state, state, state, {}, {"epoch": 2})
    write_state(path, "this one", progress, optimizer)


def read_training(path: Path) -> Any:
    state = read_state(path, "this one", torch.device("cpu"))
    groups = ("model", "best", "average", "optimizer")
    flat = {f"{g}/{name}": v for g in groups for name, v in getattr(state, g).items()}
    return [plain(flat), state.numbers]


def strict_training(path: Path) -> Any:
    raw, arrays = path.read_bytes(), strict.safetensors(path)
    size = struct.unpack_from("<Q", raw)[0]
    said = strict.parsed(raw[8 : 8 + size].decode())["__metadata__"]
    strict.require(said["mark"] == "this one")
    state = {k: torch.from_numpy(a.astype(np.float64)) for k, a in arrays.items()}
    return [plain(state), strict.parsed(said["numbers"])]


def make_folder(folder: Path) -> None:
    write(folder / "m" / "config.json", {"model_type": "bert", "hidden_size": 3})
    write(folder / "m" / "tokenizer_config.json", {"do_lower_case": True})
    torch.save(network().state_dict(), folder / "m" / "pytorch_model.bin")


def read_folder(folder: Path) -> Any:
    check_folder(TextModel("m", folder / "m", folder / "m" / "pytorch_model.bin"))
    return "checked"


def strict_folder(folder: Path) -> Any:
    for name in ("config.json", "tokenizer_config.json"):
        value = strict.parsed(strict.text(folder / "m" / name))
        strict.require(not isinstance(value, dict) or not value.get("auto_map"))
        if name == "config.json":
            strict.require(isinstance(value, dict) and value.get("model_type") == "bert")
            size = value.get("hidden_size")
            strict.require(size is None or (type(size) is int and 0 <= size <= 3))
            others = [v for k, v in value.items() if k not in ("model_type", "hidden_size")]
            strict.require(not any(isinstance(v, str | dict) for v in others))
    return "checked"


# the rest


LABELS = {str(i): ["dog", "traffic light"] for i in IDS}


def strict_labels(path: Path) -> Any:
    value = strict.parsed(strict.text(path))
    strict.require(isinstance(value, dict))
    for labels in value.values():
        strict.require(isinstance(labels, list) and all(isinstance(x, str) for x in labels))
    return value


BASELINE = "LAYER,P,R,F\n0,0.1,0.2,0.3\n1,0.4,0.5,0.6\n"


def strict_baseline(path: Path) -> Any:
    values = [row["F"] for row in strict.csv_rows(path) if row.get("LAYER") == "1"]
    return strict.number(values[-1], -1, 1)


def make_images(folder: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (24, 32, 3)).astype(np.uint8)
    for name in ("a.png", "b.jpg", "c.gif", "d.tif"):
        Image.fromarray(pixels).save(folder / name)


def image_paths(folder: Path) -> list[Path]:
    return sorted(p for p in folder.iterdir() if p.suffix in (".png", ".jpg", ".gif", ".tif"))


def read_images(folder: Path) -> Any:
    paths = image_paths(folder)
    assert None not in digests(paths, None)
    out: dict[int, Any] = {}

    def whole(image: Any) -> torch.Tensor:
        return torch.from_numpy(np.array(image.resize((16, 16))))

    for positions, pixels in decoded(paths, whole, 2):
        out |= dict(zip(positions, [] if pixels is None else pixels.tolist(), strict=True))
    for position, path in enumerate(paths):  # one that cannot be read is counted, not an end
        if position not in out:
            with open_image(path):
                pass
    return [out[k] for k in range(len(paths))]


@strict.in_a_process
def strict_images(folder: Path) -> Any:
    turns = {2: (0,), 3: (3,), 4: (1,), 5: (5,), 6: (4,), 7: (6,), 8: (2,)}  # of Exif, of Pillow
    out = []
    for path in image_paths(folder):
        image: Image.Image = Image.open(path)
        if image.mode == "I;16":
            image = Image.fromarray(np.rint(np.asarray(image) / 257).astype(np.uint8))
        for turn in turns.get(image.getexif().get(0x0112, 1), ()):
            image = image.transpose(Image.Transpose(turn))
        out.append(np.array(image.convert("RGB").resize((16, 16))).tolist())
    return out


def read_run(folder: Path) -> Any:
    """The page as the command writes it, and the run as Python reads it, end in a line or work."""
    error = io.StringIO()
    with redirect_stderr(error), redirect_stdout(io.StringIO()):
        code = write_page([str(folder / "run"), "--no-figures", "--explanations", "0"])
    if code:
        raise InputError(error.getvalue().strip())
    run = metaeval.load_run(folder / "run")
    assert isinstance(repr(run), str)
    assert len(run.table()) == len(run.result.metrics)
    assert len(run.scores) >= 0
    assert len(run.captions) >= 0
    assert isinstance(run.config, dict)
    return "written"


LOADERS: Sequence[Loader] = (
    one_file("COCO captions", "captions.json", COCO_CAPTIONS,
             lambda p: captions_of(load_coco("coco", captions=p, n_references=1)), strict_captions),
    one_file("COCO instances", "instances.json", COCO_OBJECTS, read_objects, strict.coco_objects),
    one_file("system captions", "system.json", OF_SYSTEM,
             lambda p: list(read_system_captions(p, "system", IDS).captions.items()),
             lambda p: strict.systems(p, IDS)),
    *tables("table", "table", make_table, read_table, strict.judged()),
    one_file("word marks", "marked.json", WORD_MARKS, read_word_marks, strict.word_marks),
    Loader("Flickr8k-Expert", make_flickr8k, read_flickr8k(flickr8k.load_expert),
           lambda f: strict.flickr8k(f, crowd=False), {".txt": base.TAB}, (CROWD,)),
    Loader("Flickr8k-CF", make_flickr8k, read_flickr8k(flickr8k.load_crowd),
           lambda f: strict.flickr8k(f, crowd=True), {".txt": base.TAB}, (EXPERT,)),
    Loader("Composite", make_composite, read_composite, strict_composite,
           {".txt": base.TAB, ".csv": base.SEMICOLON}, (EXPERT, CROWD)),
    Loader("THumB", make_thumb, read_thumb, strict.thumb, {".json": base.LINES}),
    *own.PAIR_LOADERS,
    one_file("own captions, Karpathy", "karpathy.json", own.KARPATHY, read_own,
             own.strict_karpathy),
    *tables("rows to score", "rows", own.TO_SCORE, own.read_to_score, own.strict_to_score),
    *tables("own captions", "own", own.OWN, read_own, own.strict_own_table,
            (".jsonl", ".json", ".parquet")),
    one_file("own captions .csv", "own.csv", OWN, read_own, own.strict_own_table),
    one_file("own captions .token", "own.token", tokens(CAPTIONS[:3]), read_own, strict_tokens,
             base.TAB),
    Loader("PASCAL-50S", make_pascal, read_pascal, strict_pascal,
           {"consensus_pascal.mat": base.MATLAB}),
    one_file("vectors, counted", "v.txt", lines(["4 3", *VECTOR_LINES]), read_vectors,
             lambda p: strict.vectors_text(p, WORDS)),
    one_file("vectors, plain", "v.txt", "\n".join(VECTOR_LINES), read_vectors,
             lambda p: strict.vectors_text(p, WORDS)),
    one_file("vectors, word2vec", "v.bin", lambda p: p.write_bytes(VECTOR_BYTES), read_vectors,
             lambda p: strict.vectors_binary(p, WORDS)),
    *(one_file(name, "v.kv", lambda p, inside=inside: write_gensim(p, inside), read_vectors,
               strict_gensim)
      for name, inside in (("vectors, gensim", True), ("vectors, gensim + npy", False))),
    Loader("regions .npy", make_regions("npy"), read_regions("f.npy", boxes="boxes.npy"),
           strict_regions("npy")),
    Loader("regions .npz", make_regions("npz"), read_regions("f.npz"), strict_regions("npz")),
    one_file("frequencies of n-grams", "idf.npz", own.make_frequencies, own.read_frequencies,
             own.strict_frequencies),
    Loader("regions folder", make_regions("folder"), read_regions("f"),
           strict_regions("folder")),
    Loader("regions .tsv", make_regions("tsv"), read_regions("f.tsv"), strict_regions("tsv"),
           {".tsv": base.TAB}),
    Loader("regions .h5", make_regions("h5"), read_regions("f.h5"), strict_regions("h5")),
    one_file("torch checkpoint", "c.pt", make_checkpoint(older=False), read_checkpoint,
             strict_checkpoint, base.ZIP),
    one_file("torch, older form", "c.pt", make_checkpoint(older=True), read_checkpoint,
             strict_checkpoint),
    one_file("TorchScript", "s.pt", make_scripted,
             lambda p: loaded(read_torchscript(p), p), strict_scripted, base.ZIP),
    Loader("SCAN checkpoint", make_scan, read_scan, strict_scan, {".tar": base.ZIP}),
    one_file("vocabulary", "vocab.json", VOCABULARY, read_vocabulary, strict_vocabulary),
    Loader("weights folder", lambda f: scan_cases.weights(f / "w"), read_weights, None),
    Loader("weights, for doctor", lambda f: scan_cases.weights(f / "w"), read_cards,
           lambda f: "a line"),
    one_file("safetensors", "m.safetensors", lambda p: save_file(network().state_dict(), p),
             lambda p: loaded(load_safetensors(p), p), strict_safetensors),
    one_file("training checkpoint", "t.safetensors", make_training, read_training,
             strict_training),
    Loader("model folder", make_folder, read_folder, strict_folder, {".bin": base.ZIP}),
    one_file("object labels", "labels.json", LABELS, lambda p: read_labels(str(p))[0],
             strict_labels),
    one_file("BERTScore baseline", "b.tsv", BASELINE, lambda p: baseline_f1(str(p), "any", 1),
             strict_baseline, base.COMMA),
    Loader("files of a run", lambda f: write_run(f / "run", IMAGES[:4]), read_run, None),
    Loader("images", make_images, read_images, strict_images),
    *JUDGE_LOADERS,
    *JOINED_LOADERS,
)  # fmt: skip
