"""The table of loaders: every way by which bytes of a file come into the project.

One entry makes a small valid file or folder, reads it as the project does, and reads it strictly
(`tests/fuzz/strict.py`). To add a loader, add an entry here: `tests/fuzz/test_loaders.py` fails for
a module that reads files and is not reached by any.
"""

from __future__ import annotations

import base64
import io
import json
import pickle
import struct
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from tests.fuzz import judges_and_audits as judges
from tests.fuzz import mutations, strict
from tests.fuzz import pairs_and_own as more
from tests.fuzz.mutations import Harm

Read = Callable[[Path], Any]


@dataclass(frozen=True)
class Loader:
    """A reader of files.

    Attributes
    ----------
    name
        What the table of results calls it.
    make
        Writes valid files into a folder.
    read
        The project's reading of that folder, as plain values that can be compared.
    strict
        The strict reading, or `None`: what is accepted must be what the unharmed files hold, since
        checksums guard them.
    harm
        File name (or its ending) → harm besides that to plain bytes.
    spared
        Files that are never damaged.
    """

    name: str
    make: Callable[[Path], None]
    read: Read
    strict: Read | None
    harm: dict[str, Harm]
    spared: tuple[str, ...] = ()


CAPTIONS = ("a dog runs, fast", "two “cats” on a bed", 'a "red" car', "un café", "犬 runs")
WORDS = ["dog", "cat", "car", "犬"]
ROWS = np.array([[3, 4, 0], [0, -2, 0.5], [1, 1, 1], [0.25, 0, -0.125]], dtype=np.float32)
IDS = (7, 42, 99)
FEATURES = np.arange(3 * 4 * 8, dtype=np.float32).reshape(3, 4, 8) / 7 - 3
BOXES = np.tile(np.array([0.1, 0.2, 0.5, 0.9], np.float32), (3, 4, 1))


def write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")


# COCO's files


def make_captions(folder: Path) -> None:
    write_json(folder / "captions.json", {
        "images": [{"id": i, "file_name": f"{i:012d}.jpg"} for i in IDS],
        "annotations": [
            {"id": 10 * i + k, "image_id": i, "caption": text}
            for i in IDS for k, text in enumerate(CAPTIONS)
        ],
    })  # fmt: skip


def read_captions(folder: Path) -> Any:
    from metaeval.data.coco.load import load_coco

    data = load_coco("coco", captions=folder / "captions.json", n_references=1)
    return [
        (i, human, *references)
        for i, human, references in zip(data.image_ids, data.human, data.references, strict=True)
    ]


def strict_captions(folder: Path) -> Any:
    return [(i, *captions[:2]) for i, captions in strict.coco_captions(folder / "captions.json")]


def make_objects(folder: Path) -> None:
    write_json(folder / "instances.json", {
        "images": [{"id": i, "width": 640, "height": 480} for i in IDS],
        "categories": [{"id": 1, "name": "dog"}, {"id": 2, "name": "traffic light"}],
        "annotations": [
            {"id": 10 * i + k, "image_id": i, "category_id": 1 + k % 2, "iscrowd": int(k == 2),
             "bbox": [10 * k, 5.5, 100, 200]}
            for i in IDS for k in range(3)
        ],
    })  # fmt: skip


def read_objects(folder: Path) -> Any:
    from metaeval.data.coco.objects import CocoObjects

    objects = CocoObjects(folder / "instances.json")
    return [
        (i, [[n, *box] for n, box in zip(one.labels, one.boxes.tolist(), strict=True)])
        for i, one in objects.items()
    ]


def make_systems(folder: Path) -> None:
    rows = [{"image_id": i, "caption": CAPTIONS[k]} for k, i in enumerate(IDS)]
    write_json(folder / "system.json", rows)


def read_systems(folder: Path) -> Any:
    from metaeval.data.system_captions import read_system_captions

    return list(read_system_captions(folder / "system.json", "system", IDS).captions.items())


# tables of judgements


def judged_rows() -> list[dict[str, Any]]:
    return [
        {"image_id": f"{i}.jpg", "candidate": CAPTIONS[k], "references": list(CAPTIONS[:2]),
         "human": 1.5 + k, "system": "one"}
        for k, i in enumerate((1, 2, 3, 4))
    ]  # fmt: skip


def make_table(suffix: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        path, rows = folder / f"table{suffix}", judged_rows()
        if suffix == ".jsonl":
            lines = (json.dumps(row, ensure_ascii=False) for row in rows)
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        elif suffix == ".csv":
            pd.DataFrame(rows).to_csv(path, index=False)
        else:
            pd.DataFrame(rows).to_parquet(path)

    return make


def judged_values(judgments: Any) -> Any:
    return [
        (j.image, j.candidate, list(j.references), [float(v) for d in j.human.values() for v in d],
         j.system)
        for j in judgments.judged
    ]  # fmt: skip


def read_table(suffix: str) -> Read:
    def read(folder: Path) -> Any:
        from metaeval.data.judgments.table import load_table

        file = folder / f"table{suffix}"
        return judged_values(load_table(file=file, image_source="other", data=folder))

    return read


def make_flickr8k(folder: Path) -> None:
    lines = [f"{i}.jpg#{k}\t{text}" for i in (1, 2) for k, text in enumerate(CAPTIONS)]
    (folder / "Flickr8k.token.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "ExpertAnnotations.txt").write_text(
        "1.jpg\t2.jpg#1\t1\t2\t4\n2.jpg\t2.jpg#2\t3\t3\t4\n1.jpg\t1.jpg#0\t4\t4\t4\n"
    )
    (folder / "CrowdFlowerAnnotations.txt").write_text(
        "1.jpg\t2.jpg#1\t0\t0\t3\n2.jpg\t2.jpg#2\t0.75\t3\t1\n1.jpg\t1.jpg#0\t1\t3\t0\n"
    )


def read_flickr8k(crowd: bool) -> Read:
    def read(folder: Path) -> Any:
        from metaeval.data.judgments.flickr8k import load_crowd, load_expert

        load = load_crowd if crowd else load_expert
        return judged_values(load(root=folder, data=folder, own_captions="keep"))

    return read


def make_thumb(folder: Path) -> None:
    rated = [
        {"SYS": "one", "seg_id": str(i), "hyp": CAPTIONS[k], "image": f"COCO_val2014_{i:012d}.jpg",
         "P": 4.0, "R": 3.0, "Fl": -0.5, "Con": 0.0, "Inc": 0.0, "human_score": 3.0}
        for k, i in enumerate(IDS)
    ]  # fmt: skip
    references = [{"seg_id": str(i), "refs": list(CAPTIONS[:3])} for i in IDS]
    for name, rows in (("mscoco_THumB-1.0.jsonl", rated), ("mscoco_references.json", references)):
        lines = (json.dumps(row, ensure_ascii=False) for row in rows)
        (folder / name).write_text("\n".join(lines), encoding="utf-8")


def read_thumb(folder: Path) -> Any:
    from metaeval.data.judgments.thumb import load_thumb

    return judged_values(load_thumb(root=folder, data=folder, dimensions=["total"]))


def make_composite(folder: Path) -> None:
    head = ["Input.image_url", *(f"Input.text{k}" for k in (1, 2, 3))]
    head += [f"Answer.Q{k}Answer" for k in (1, 2, 3)]
    lines = [";".join(head)]
    for i in (1, 2):
        texts = [CAPTIONS[0], "a machine wrote", "another, too"]
        lines.append(";".join([f"http://x.org/{i}.jpg", *texts, "5", "1", "3"]))
    lines.append(";" * (len(head) - 1))
    (folder / "8k_correctness.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    make_flickr8k(folder)


def read_composite(folder: Path) -> Any:
    from metaeval.data.judgments.composite import load_composite

    loaded = load_composite(root=folder, data=folder, subsets=["8k"], own_captions="keep")
    return judged_values(loaded)


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


def make_tokens(folder: Path) -> None:
    lines = [f"{i}.jpg#{k}\t{text}" for i in (1, 2) for k, text in enumerate(CAPTIONS[:3])]
    (folder / "own.token").write_text("\n".join(lines) + "\n", encoding="utf-8")


def strict_tokens(folder: Path) -> Any:
    captions: dict[tuple[str, int], str] = {}
    for line in strict.text(folder / "own.token").split("\n"):
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


def make_own(folder: Path) -> None:
    rows = [{"image_id": f"{i}.jpg", "caption": text} for i in (1, 2) for text in CAPTIONS[:3]]
    pd.DataFrame(rows).to_csv(folder / "own.csv", index=False)


def read_own(name: str) -> Read:
    def read(folder: Path) -> Any:
        from metaeval.data.own.captions import load_own

        data = load_own(folder / name, split="all" if name == "karpathy.json" else None)
        rows = zip(data.image_ids, data.human, data.references, strict=True)
        return {str(i): [human, *references] for i, human, references in rows}

    return read


def strict_own(folder: Path) -> Any:
    out: dict[str, list[str]] = {}
    for row in strict.csv_rows(folder / "own.csv"):
        strict.require({"image_id", "caption"} <= set(row))
        text = strict.caption(row["caption"])
        strict.require(text and row["image_id"].strip())
        out.setdefault(row["image_id"], []).append(text)
    return out


def make_pascal(folder: Path) -> None:
    from scipy.io import savemat

    inputs = np.zeros((1, 4), dtype=[(n, object) for n in ("name", "sent1", "sent2")])
    result = np.zeros((1, 4), dtype=[("result", object)])
    triplets = np.zeros((1, 4 * 48), dtype=[(n, object) for n in ("A", "B", "C", "winner")])
    for k in range(4):
        inputs[0, k] = (f"2008_00{k}.jpg", CAPTIONS[0], f"a man {k}")
        result[0, k] = (np.array([[1, -1, 1]]),)
        for j in range(48):
            winner = np.array([[1 if j % 3 else -1]])
            triplets[0, 48 * k + j] = (f"reference {j}", CAPTIONS[0], f"a man {k}", winner)
    pairs = {"new_input": inputs, "category": np.array([[1, 2, 3, 4]]), "result": result}
    savemat(folder / "pair_pascal.mat", pairs)
    savemat(folder / "consensus_pascal.mat", {"triplets": triplets}, do_compression=True)


def read_pascal(folder: Path) -> Any:
    from metaeval.data.judgments.pascal50s import load_pascal50s

    pairs = load_pascal50s(root=folder, data=folder)
    other = pairs.other_votes  # a file may lack them
    direct = [None] * len(pairs) if other is None else other.tolist()
    votes = zip(pairs.votes.tolist(), direct, strict=True)
    return list(zip(pairs.image, pairs.first, pairs.second, pairs.references, votes, strict=True))


def strict_pascal(folder: Path) -> Any:
    return strict.apart(lambda: scipy_pascal(folder))


def letters(text: str) -> str:
    return "".join(c for c in text.lower() if c.isalnum())


def direct_votes(result: Any) -> list[int]:
    votes = np.asarray(result).reshape(-1).tolist()
    strict.require(set(votes) <= {1, -1})
    return [votes.count(1), votes.count(-1)]


def scipy_pascal(folder: Path) -> Any:
    from scipy.io import loadmat

    pairs = loadmat(folder / "pair_pascal.mat", simplify_cells=True)
    triplets = loadmat(folder / "consensus_pascal.mat", simplify_cells=True)["triplets"]
    out = []
    strict.require(len(triplets) == 48 * len(pairs["new_input"]))
    results = pairs.get("result", [None] * len(pairs["new_input"]))
    for k, (one, seen) in enumerate(zip(pairs["new_input"], results, strict=True)):
        image, b, c = (strict.caption(one[n]) for n in ("name", "sent1", "sent2"))
        mine = triplets[48 * k : 48 * k + 48]
        strict.require(all(t["winner"] in (1, -1) for t in mine))
        first = sum((t["winner"] == 1) == (letters(t["B"]) == letters(b)) for t in mine)
        votes = ([first, 48 - first], seen and direct_votes(seen["result"]))
        references = tuple(strict.caption(t["A"]) for t in mine)
        out.append((image, b, c, references, votes))
    return out


# word vectors


def make_vectors(form: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        lines = [
            " ".join([w, *map(repr, row)]) for w, row in zip(WORDS, ROWS.tolist(), strict=True)
        ]
        if form == "counted":
            (folder / "v.txt").write_text("\n".join(["4 3", *lines]) + "\n", encoding="utf-8")
        elif form == "plain":
            (folder / "v.txt").write_text("\n".join(lines), encoding="utf-8")
        elif form == "binary":
            entries = (
                w.encode() + b" " + row.tobytes() + b"\n"
                for w, row in zip(WORDS, ROWS, strict=True)
            )
            (folder / "v.bin").write_bytes(b"4 3\n" + b"".join(entries))
        else:
            write_gensim(folder, inside=form == "gensim")

    return make


def write_gensim(folder: Path, inside: bool) -> None:
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
    (folder / "v.kv").write_bytes(frame + body)
    if not inside:
        np.save(folder / "v.kv.vectors.npy", ROWS)


def read_vectors(name: str) -> Read:
    def read(folder: Path) -> Any:
        from metaeval.text.word_vectors.base import VectorFile

        vectors = VectorFile(folder / name, cache=folder / "cache").embed(WORDS)
        return {
            w: row.tolist()
            for w, row, known in zip(WORDS, vectors.rows, vectors.known, strict=True)
            if known
        }

    return read


def strict_gensim(folder: Path) -> Any:
    return strict.apart(lambda: gensim_rows(folder))


def gensim_rows(folder: Path) -> Any:
    class Plain:
        pass

    class Reader(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            if module.startswith("gensim"):
                return Plain
            strict.require(module.split(".")[0] in ("numpy", "_codecs", "collections"))
            return super().find_class(module, name)

    held = vars(Reader(io.BytesIO((folder / "v.kv").read_bytes())).load())
    rows = held.get("vectors")
    if rows is None:
        rows = np.load(folder / "v.kv.vectors.npy", allow_pickle=False)
    words = held["index_to_key"]
    strict.require(isinstance(words, list) and all(isinstance(w, str) for w in words))
    strict.require(rows.ndim == 2 and len(rows) == len(words) and rows.dtype.kind == "f")
    rows = rows.astype(np.float32)
    strict.require(all(np.isfinite(rows[i]).all() for i, w in enumerate(words) if w in WORDS))
    first: dict[str, list[float]] = {}
    for word, row in zip(words, rows.tolist(), strict=True):
        first.setdefault(word, row)
    return strict.vectors(first, WORDS)


# regions


def make_regions(form: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        if form == "npy":
            np.save(folder / "f.npy", FEATURES)
            np.save(folder / "boxes.npy", BOXES)
            (folder / "f_ids.txt").write_text("".join(f"{i}\n" for i in IDS))
        elif form == "npz":
            np.savez_compressed(
                folder / "f.npz", features=FEATURES, image_ids=np.array(IDS), boxes=BOXES
            )
        elif form == "folder":
            (folder / "f").mkdir()
            for i, x, bbox in zip(IDS[:2], FEATURES, BOXES, strict=False):
                np.savez(folder / "f" / f"{i}.npz", x=x, bbox=bbox * 100, image_w=100, image_h=100)
            np.save(folder / "f" / f"{IDS[2]}.npy", FEATURES[2])
        elif form == "tsv":

            def coded(array: Any) -> str:
                return base64.b64encode(array.tobytes()).decode()

            lines = (
                f"{i}\t100\t100\t4\t{coded(b * 100)}\t{coded(x)}"
                for i, x, b in zip(IDS, FEATURES, BOXES, strict=True)
            )
            (folder / "f.tsv").write_text("\n".join(lines) + "\n")
        else:
            import h5py

            with h5py.File(folder / "f.h5", "w") as file:
                for i, x, b in zip(IDS, FEATURES, BOXES, strict=True):
                    file.create_dataset(f"{i}_features", data=x, compression="gzip")
                    file[f"{i}_boxes"] = b

    return make


def read_regions(name: str, **options: str) -> Read:
    def read(folder: Path) -> Any:
        from metaeval.data.dataset import CaptionDataset
        from metaeval.vision.regions.bottomup import BottomUpRegions

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
    def read(folder: Path) -> Any:
        if form == "tsv":
            rows = strict.regions_tsv(folder / "f.tsv", {str(i): i for i in IDS})
        else:
            rows = strict.apart(lambda: library_regions(folder, form))
        return regions_of(rows)

    return read


def ids_of(text: str, n: int) -> list[str]:
    """Ids one per line; each of n images once, or all as often (once a caption)."""
    ids = [strict.compared_id(line.strip()) for line in text.split("\n") if line.strip()]
    times = Counter(ids)
    repeated = len(ids) != n and len(times) == n and len({*times.values()}) == 1
    return list(times) if repeated else ids


def library_regions(folder: Path, form: str) -> dict[str, Any]:
    if form == "npy":
        features = np.load(folder / "f.npy", allow_pickle=False)
        ids = ids_of(strict.text(folder / "f_ids.txt"), len(features))
        strict.require(features.ndim == 3 and len(ids) == len(features))
        boxes = np.load(folder / "boxes.npy", allow_pickle=False)
        strict.require(boxes.shape == (*features.shape[:2], 4))
        out: dict[str, Any] = {}
        for i, row in zip(ids, features, strict=True):
            if i in map(str, IDS):
                out.setdefault(i, row)
        return out
    if form == "npz":
        with np.load(folder / "f.npz", allow_pickle=False) as archive:
            features, ids = archive["features"], archive["image_ids"].tolist()
            strict.require(features.ndim == 3 and len(ids) == len(features))
            out = {}
            for i, row in zip(ids, features, strict=True):
                key = strict.compared_id((i.decode() if isinstance(i, bytes) else str(i)).strip())
                if key in map(str, IDS):
                    out.setdefault(key, row)
            return out
    if form == "folder":
        out = {}
        for i in IDS[:2]:
            with np.load(folder / "f" / f"{i}.npz", allow_pickle=False) as archive:
                name = next(n for n in ("x", "feat", "features") if n in archive.files)
                out[str(i)] = archive[name]
                if "bbox" in archive.files and len(archive["bbox"]) != len(out[str(i)]):
                    out[str(i)] = out[str(i)].T
        out[str(IDS[2])] = np.load(folder / "f" / f"{IDS[2]}.npy", allow_pickle=False)
        return out
    import h5py

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
    def make(folder: Path) -> None:
        value = {"epoch": 3, "state_dict": network().state_dict(), "opt": Namespace(x=1)}
        torch.save(value, folder / "c.pt", _use_new_zipfile_serialization=not older)

    return make


def read_checkpoint(folder: Path) -> Any:
    from metaeval.readers.checkpoints import load_torch_checkpoint, load_weights

    value = load_torch_checkpoint(folder / "c.pt")
    state = value.get("state_dict") if isinstance(value, dict) else None
    model = network()
    load_weights(model, state, folder / "c.pt")
    return plain(model.state_dict())


def strict_checkpoint(folder: Path) -> Any:
    def read() -> Any:
        with torch.serialization.safe_globals([Namespace]):
            value = torch.load(folder / "c.pt", weights_only=True)
        return plain({k: v.float() for k, v in value["state_dict"].items()})

    return strict.apart(read)


def make_torchscript(folder: Path) -> None:
    torch.jit.script(network()).save(str(folder / "s.pt"))


def read_torchscript(folder: Path) -> Any:
    from metaeval.readers import checkpoints, torch_archive

    tensors = torch_archive.read_torchscript(folder / "s.pt")
    model = network()
    checkpoints.load_weights(model, tensors, folder / "s.pt")
    return plain(model.state_dict())


def strict_torchscript(folder: Path) -> Any:
    """The numbers of data/0 to data/3, in the order in which the module names them."""
    import zipfile

    def read() -> Any:
        state = {}
        with zipfile.ZipFile(folder / "s.pt") as archive:
            for number, (name, own) in enumerate(torchscript_order().items()):
                raw = archive.read(f"s/data/{number}")
                state[name] = torch.frombuffer(bytearray(raw), dtype=own.dtype).reshape(own.shape)
        return plain(state)

    return strict.apart(read)


def torchscript_order() -> dict[str, torch.Tensor]:
    return dict(network().state_dict())


def make_scan(folder: Path) -> None:
    from metaeval.metrics.scan.network import Scan, ScanShape

    torch.manual_seed(0)
    model = Scan(ScanShape(dim=6, words=6, embed=4, word=3))
    value = {"epoch": 1, "model": [model.image.state_dict(), model.text.state_dict()],
             "best_rsum": 1.0, "opt": Namespace(raw_feature_norm="clipped_l2norm")}  # fmt: skip
    torch.save(value, folder / "model_best.pth.tar")
    make_vocabulary(folder)


def read_scan(folder: Path) -> Any:
    from metaeval.metrics.scan.checkpoint import load_checkpoint

    model, words = load_checkpoint(folder / "model_best.pth.tar", folder / "vocab.json")
    states = [model.image.state_dict(), model.text.state_dict()]
    return [plain(states), words.words]


def strict_scan(folder: Path) -> Any:
    def read() -> Any:
        with torch.serialization.safe_globals([Namespace]):
            value = torch.load(folder / "model_best.pth.tar", weights_only=True)
        return plain([{k: v.float() for k, v in state.items()} for state in value["model"]])

    return [strict.apart(read), strict_vocabulary(folder)[0]]


def make_vocabulary(folder: Path) -> None:
    words = ["<pad>", "<start>", "<end>", "<unk>", "dog", "犬"]
    write_json(folder / "vocab.json", {
        "word2idx": {w: i for i, w in enumerate(words)},
        "idx2word": {str(i): w for i, w in enumerate(words)}, "idx": 6, "tokenizer": "ptb",
    })  # fmt: skip


def read_vocabulary(folder: Path) -> Any:
    from metaeval.text.vocabulary import Vocabulary

    words = Vocabulary.load(folder / "vocab.json")
    return [words.words, words.tokenizer]


def strict_vocabulary(folder: Path) -> Any:
    value = strict.parsed(strict.text(folder / "vocab.json"))
    numbers = value["word2idx"]
    strict.require(isinstance(numbers, dict))
    strict.require(all(type(n) is int for n in numbers.values()))
    strict.require(sorted(numbers.values()) == list(range(len(numbers))))
    words = tuple(sorted(numbers, key=numbers.__getitem__))
    strict.require(words[:4] == ("<pad>", "<start>", "<end>", "<unk>"))
    tokenizer = value.get("tokenizer", "nltk")
    strict.require(tokenizer in ("ptb", "nltk"))
    return [words, tokenizer]


def make_weights(folder: Path) -> None:
    from tests.metrics.scan import scan_cases

    scan_cases.weights(folder / "w")


def read_weights(folder: Path) -> Any:
    from metaeval.data.dataset import Absent
    from metaeval.errors import InputError
    from metaeval.metrics.scan.weights import choose_weights
    from metaeval.vision.regions.gold import GoldRegions
    from tests.metrics.scan import scan_cases

    data = scan_cases.dataset()
    weights = choose_weights(str(folder / "w"), "", data, GoldRegions(), None)
    if isinstance(weights, Absent):  # what a run says in the metric's row
        raise InputError(str(weights), file=folder / "w")
    model, words = weights.load()
    return [plain(model.state_dict()), words.words, weights.seen.tolist()]


def read_cards(folder: Path) -> Any:
    """`doctor`'s line on a folder of weights, for any card."""
    from metaeval.errors import InputError
    from metaeval.weights import shipped

    (line,) = shipped.lines(folder)
    if "cannot be used" in line:
        raise InputError(line, file=folder)
    assert line.isprintable()
    return "a line"


def make_safetensors(folder: Path) -> None:
    from safetensors.torch import save_file

    save_file(network().state_dict(), folder / "m.safetensors")


def read_safetensors(folder: Path) -> Any:
    from metaeval.readers.checkpoints import load_safetensors, load_weights

    model = network()
    load_weights(model, load_safetensors(folder / "m.safetensors"), folder / "m.safetensors")
    return plain(model.state_dict())


def strict_safetensors(folder: Path) -> Any:
    arrays = strict.safetensors(folder / "m.safetensors")
    strict.require(all(a.dtype.kind == "f" for a in arrays.values()))
    return plain({k: torch.from_numpy(a.astype(np.float32)) for k, a in arrays.items()})


def make_training(folder: Path) -> None:
    from metaeval.training.checkpoint import Progress, write_state

    model = network()
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    state = model.state_dict()
    progress = Progress(state, state, state, {}, {"epoch": 2})
    write_state(folder / "t.safetensors", "this one", progress, optimizer)


def read_training(folder: Path) -> Any:
    from metaeval.training.checkpoint import read_state

    state = read_state(folder / "t.safetensors", "this one", torch.device("cpu"))
    groups = {"model": state.model, "best": state.best, "average": state.average,
              "optimizer": state.optimizer}  # fmt: skip
    flat = {
        f"{g}/{name}": value for g, members in groups.items() for name, value in members.items()
    }
    return [plain(flat), state.numbers]


def strict_training(folder: Path) -> Any:
    raw = (folder / "t.safetensors").read_bytes()
    arrays = strict.safetensors(folder / "t.safetensors")
    size = struct.unpack_from("<Q", raw)[0]
    said = strict.parsed(raw[8 : 8 + size].decode())["__metadata__"]
    strict.require(said["mark"] == "this one")
    state = {k: torch.from_numpy(a.astype(np.float64)) for k, a in arrays.items()}
    return [plain(state), strict.parsed(said["numbers"])]


def make_folder(folder: Path) -> None:
    write_json(folder / "m" / "config.json", {"model_type": "bert", "hidden_size": 3})
    write_json(folder / "m" / "tokenizer_config.json", {"do_lower_case": True})
    torch.save(network().state_dict(), folder / "m" / "pytorch_model.bin")


def read_folder(folder: Path) -> Any:
    from metaeval.text.transformers.locate import TextModel, check_folder

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


def make_labels(folder: Path) -> None:
    write_json(folder / "labels.json", {str(i): ["dog", "traffic light"] for i in IDS})


def read_labels(folder: Path) -> Any:
    from metaeval.metrics.vifidel.objects import read_labels as read

    return read(str(folder / "labels.json"))[0]


def strict_labels(folder: Path) -> Any:
    value = strict.parsed(strict.text(folder / "labels.json"))
    strict.require(isinstance(value, dict))
    for labels in value.values():
        strict.require(isinstance(labels, list) and all(isinstance(x, str) for x in labels))
    return value


def make_baseline(folder: Path) -> None:
    (folder / "b.tsv").write_text("LAYER,P,R,F\n0,0.1,0.2,0.3\n1,0.4,0.5,0.6\n")


def read_baseline(folder: Path) -> Any:
    from metaeval.metrics.bertscore.baseline import baseline_f1 as read

    return read(str(folder / "b.tsv"), "any", 1)


def strict_baseline(folder: Path) -> Any:
    rows = strict.csv_rows(folder / "b.tsv")
    values = [row["F"] for row in rows if row.get("LAYER") == "1"]
    return strict.number(values[-1], -1, 1)


def make_images(folder: Path) -> None:
    from PIL import Image

    pixels = np.random.default_rng(0).integers(0, 256, (24, 32, 3)).astype(np.uint8)
    for name in ("a.png", "b.jpg", "c.gif", "d.tif"):
        Image.fromarray(pixels).save(folder / name)


def read_images(folder: Path) -> Any:
    from metaeval.data.image_files import decoded, digests
    from metaeval.readers.images import open_image

    paths = sorted(p for p in folder.iterdir() if p.suffix in (".png", ".jpg", ".gif", ".tif"))
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


def strict_images(folder: Path) -> Any:
    from PIL import Image

    paths = sorted(p for p in folder.iterdir() if p.suffix in (".png", ".jpg", ".gif", ".tif"))
    turns = {2: (0,), 3: (3,), 4: (1,), 5: (5,), 6: (4,), 7: (6,), 8: (2,)}  # of Exif, of Pillow

    def opened(path: Path) -> Any:
        image: Image.Image = Image.open(path)
        if image.mode == "I;16":
            image = Image.fromarray(np.rint(np.asarray(image) / 257).astype(np.uint8))
        for turn in turns.get(image.getexif().get(0x0112, 1), ()):
            image = image.transpose(Image.Transpose(turn))
        return np.array(image.convert("RGB").resize((16, 16))).tolist()

    return strict.apart(lambda: [opened(p) for p in paths])


def make_run(folder: Path) -> None:
    from tests.reports.run_files import IMAGES, write_run

    write_run(folder / "run", IMAGES[:4])


def read_run(folder: Path) -> Any:
    """The page as the command writes it, and the run as Python reads it, end in a line or work."""
    import metaeval
    from metaeval.errors import InputError
    from metaeval.reports.__main__ import main

    error = io.StringIO()
    with redirect_stderr(error), redirect_stdout(io.StringIO()):
        code = main([str(folder / "run"), "--no-figures", "--explanations", "0"])
    if code:
        raise InputError(error.getvalue().strip())
    run = metaeval.load_run(folder / "run")
    assert isinstance(repr(run), str)
    assert len(run.table()) == len(run.result.metrics)
    assert len(run.scores) >= 0
    assert len(run.captions) >= 0
    assert isinstance(run.config, dict)
    return "written"


JSON, LINES = mutations.harm_json, mutations.harm_json_lines
COMMA, TAB, SEMICOLON = (mutations.harm_cells(mark) for mark in ",\t;")
ZIP, SAFE, MATLAB = mutations.harm_zip, mutations.harm_safetensors, mutations.harm_matlab
EXPERT, CROWD = "ExpertAnnotations.txt", "CrowdFlowerAnnotations.txt"

LOADERS: Sequence[Loader] = (
    Loader("COCO captions", make_captions, read_captions, strict_captions, {".json": JSON}),
    Loader("COCO instances", make_objects, read_objects,
           lambda f: strict.coco_objects(f / "instances.json"), {".json": JSON}),
    Loader("system captions", make_systems, read_systems,
           lambda f: strict.systems(f / "system.json", IDS), {".json": JSON}),
    *(Loader(f"table {s}", make_table(s), read_table(s), strict.judged(f"table{s}"), {s: harm})
      for s, harm in ((".jsonl", LINES), (".csv", COMMA))),
    Loader("table .parquet", make_table(".parquet"), read_table(".parquet"),
           strict.judged("table.parquet"), {}),
    Loader("Flickr8k-Expert", make_flickr8k, read_flickr8k(False),
           lambda f: strict.flickr8k(f, crowd=False), {".txt": TAB}, (CROWD,)),
    Loader("Flickr8k-CF", make_flickr8k, read_flickr8k(True),
           lambda f: strict.flickr8k(f, crowd=True), {".txt": TAB}, (EXPERT,)),
    Loader("Composite", make_composite, read_composite, strict_composite,
           {".txt": TAB, ".csv": SEMICOLON}, (EXPERT, CROWD)),
    Loader("THumB", make_thumb, read_thumb, strict.thumb, {".jsonl": LINES, ".json": LINES}),
    Loader("SugarCrepe", more.make_sugarcrepe, more.read_sugarcrepe,
           more.strict_sugarcrepe("sugarcrepe", paraphrased=False), {".json": JSON}, more.COCO),
    Loader("RoCOCO", more.make_rococo, more.read_rococo, more.strict_rococo,
           {".json": JSON}, more.COCO),
    Loader("AudioCaps-Eval", more.make_clip_pairs, more.read_clip_pairs, more.strict_clip_pairs,
           {".json": JSON}),
    *(Loader(f"battles {s}", more.make_battles(s), more.read_battles(s),
             more.strict_battles(s), harm)
      for s, harm in ((".jsonl", {".jsonl": LINES}), (".csv", {".csv": COMMA}), (".parquet", {}))),
    Loader("battles of captioners", more.make_captioner_battles, more.read_captioner_battles,
           more.strict_captioner_battles, {".json": JSON}, more.COCO),
    Loader("SugarCrepe++", more.make_sugarcrepe_pp, more.read_sugarcrepe_pp,
           more.strict_sugarcrepe("sugarcrepe_pp", paraphrased=True), {".json": JSON}, more.COCO),
    Loader("VALSE", more.make_valse, more.read_valse, more.strict_valse, {".json": JSON},
           more.COCO),
    Loader("FOIL", more.make_foil, more.read_foil, more.strict_foil, {".json": JSON}, more.COCO),
    *(Loader(f"pairs {s}", more.make_pairs_table(s), more.read_pairs_table(s),
             more.strict_pairs_table(s), harm)
      for s, harm in ((".jsonl", {".jsonl": LINES}), (".csv", {".csv": COMMA}), (".parquet", {}))),
    *(Loader(f"scores, {name}", more.make_scores(name), more.read_scores(name),
             more.strict_scores(name), harm)
      for name, harm in (("wide.csv", {".csv": COMMA}), ("long.jsonl", {".jsonl": LINES}),
                         ("long.parquet", {}))),
    Loader("corrupted elsewhere", more.make_corruptions, more.read_corruptions,
           more.strict_corruptions, {".csv": COMMA}),
    Loader("given results", more.make_given, more.read_given, more.strict_given, {".json": JSON}),
    Loader("own captions, Karpathy", more.make_karpathy, read_own("karpathy.json"),
           more.strict_karpathy, {".json": JSON}),
    *(Loader(f"rows to score {s}", more.make_score_rows(s), more.read_score_rows(s),
             more.strict_score_rows(s), harm)
      for s, harm in ((".jsonl", {".jsonl": LINES}), (".csv", {".csv": COMMA}), (".parquet", {}))),
    *(Loader(f"own captions {s}", more.make_own_table(s), read_own(f"own{s}"),
             more.strict_own_table(s), harm)
      for s, harm in ((".jsonl", {".jsonl": LINES}), (".json", {".json": JSON}),
                      (".parquet", {}))),
    Loader("own captions .csv", make_own, read_own("own.csv"), strict_own, {".csv": COMMA}),
    Loader("own captions .token", make_tokens, read_own("own.token"), strict_tokens,
           {".token": TAB}),
    Loader("PASCAL-50S", make_pascal, read_pascal, strict_pascal,
           {"consensus_pascal.mat": MATLAB}),
    Loader("vectors, counted", make_vectors("counted"), read_vectors("v.txt"),
           lambda f: strict.vectors_text(f / "v.txt", WORDS), {}),
    Loader("vectors, plain", make_vectors("plain"), read_vectors("v.txt"),
           lambda f: strict.vectors_text(f / "v.txt", WORDS), {}),
    Loader("vectors, word2vec", make_vectors("binary"), read_vectors("v.bin"),
           lambda f: strict.vectors_binary(f / "v.bin", WORDS), {}),
    Loader("vectors, gensim", make_vectors("gensim"), read_vectors("v.kv"), strict_gensim, {}),
    Loader("vectors, gensim + npy", make_vectors("next to it"), read_vectors("v.kv"),
           strict_gensim, {}),
    Loader("regions .npy", make_regions("npy"), read_regions("f.npy", boxes="boxes.npy"),
           strict_regions("npy"), {}),
    Loader("regions .npz", make_regions("npz"), read_regions("f.npz"), strict_regions("npz"),
           {".npz": ZIP}),
    Loader("frequencies of n-grams", more.make_frequencies, more.read_frequencies,
           more.strict_frequencies, {".npz": ZIP}),
    Loader("regions folder", make_regions("folder"), read_regions("f"),
           strict_regions("folder"), {".npz": ZIP}),
    Loader("regions .tsv", make_regions("tsv"), read_regions("f.tsv"), strict_regions("tsv"),
           {".tsv": TAB}),
    Loader("regions .h5", make_regions("h5"), read_regions("f.h5"), strict_regions("h5"), {}),
    Loader("torch checkpoint", make_checkpoint(older=False), read_checkpoint, strict_checkpoint,
           {".pt": ZIP}),
    Loader("torch, older form", make_checkpoint(older=True), read_checkpoint, strict_checkpoint,
           {}),
    Loader("TorchScript", make_torchscript, read_torchscript, strict_torchscript, {".pt": ZIP}),
    Loader("SCAN checkpoint", make_scan, read_scan, strict_scan, {".tar": ZIP, ".json": JSON}),
    Loader("vocabulary", make_vocabulary, read_vocabulary, strict_vocabulary, {".json": JSON}),
    Loader("weights folder", make_weights, read_weights, None,
           {".json": JSON, ".safetensors": SAFE}),
    Loader("weights, for doctor", make_weights, read_cards, lambda f: "a line", {".json": JSON}),
    Loader("safetensors", make_safetensors, read_safetensors, strict_safetensors,
           {".safetensors": SAFE}),
    Loader("training checkpoint", make_training, read_training, strict_training,
           {".safetensors": SAFE}),
    Loader("model folder", make_folder, read_folder, strict_folder, {".json": JSON, ".bin": ZIP}),
    Loader("object labels", make_labels, read_labels, strict_labels, {".json": JSON}),
    Loader("BERTScore baseline", make_baseline, read_baseline, strict_baseline, {".tsv": COMMA}),
    Loader("files of a run", make_run, read_run, None, {".json": JSON}),
    Loader("images", make_images, read_images, strict_images, {}),
    Loader("answers of a run", judges.make_answers, judges.read_answers, judges.strict_answers,
           {".jsonl": LINES}),
    Loader("answers, replayed", judges.make_replay, judges.read_replay, judges.strict_replay,
           {".csv": COMMA}),
    Loader("answers of a batch", judges.make_batch, judges.read_batch, judges.strict_batch,
           {".jsonl": LINES}),
    Loader("prompt", judges.make_prompt, judges.read_prompt, judges.strict_prompt, {}),
    Loader("sheets of an audit", judges.make_audit, judges.read_audit, judges.strict_audit,
           {".csv": COMMA}),
)  # fmt: skip
