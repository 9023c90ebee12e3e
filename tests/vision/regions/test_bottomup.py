"""Files of region features: each form read back exactly, each way to be wrong one clear line.

Files are written with the tools that the field writes them with (NumPy, csv and base64 as in
bottom-up attention's own script, h5py), not by our code.
"""

import base64
import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from metaeval.data.identity import image_key
from metaeval.errors import InputError
from metaeval.vision.regions.base import Regions
from metaeval.vision.regions.bottomup import TSV_FIELDS, BottomUpRegions
from tests.vision.regions.region_cases import dataset

IDS = (7, 42, 5193)
RNG = np.random.default_rng(0)
FEATURES = RNG.standard_normal((3, 6, 8)).astype(np.float32)
CORNERS = np.sort(RNG.random((3, 6, 2, 2)), axis=2).reshape(3, 6, 4).astype(np.float32)
SIZES = np.array([[640, 480], [500, 333], [100, 100]])
PIXELS = CORNERS * np.tile(SIZES, 2)[:, None, :]


def as_npy(folder: Path) -> dict[str, Any]:
    np.save(folder / "test_ims.npy", FEATURES)
    np.save(folder / "boxes.npy", CORNERS)
    (folder / "test_ids.txt").write_text("7\n42\n5193\n")
    return {"file": folder / "test_ims.npy", "boxes": folder / "boxes.npy"}


def as_npz(folder: Path) -> dict[str, Any]:
    path = folder / "all.npz"
    names = np.array([f"COCO_val2014_{i:012d}.jpg" for i in IDS])
    np.savez_compressed(path, features=FEATURES, image_ids=names, boxes=CORNERS)
    return {"file": path}


def as_folder(folder: Path) -> dict[str, Any]:
    """As the PyTorch port of bottom-up attention writes them; one of them a column per region."""
    for row, i in enumerate(IDS):
        own = FEATURES[row].T if row == 1 else FEATURES[row]
        w, h = SIZES[row]
        np.savez(folder / f"{i:012d}.npz", x=own, bbox=PIXELS[row], image_w=w, image_h=h)
    (folder / "README").write_text("not a file of features")
    np.save(folder / "99.npy", FEATURES[0])  # of an image outside the dataset
    return {"file": folder}


def as_tsv(folder: Path) -> dict[str, Any]:
    """The script of bottom-up attention: csv.DictWriter and base64 of float32."""
    with (folder / "test.tsv").open("w", newline="") as file:
        writer = csv.DictWriter(file, delimiter="\t", fieldnames=TSV_FIELDS)
        for row, i in enumerate(IDS):
            pixels = PIXELS[row].astype(np.float32)
            values = (i, *SIZES[row], 6, *map(text, (pixels, FEATURES[row])))
            writer.writerow(dict(zip(TSV_FIELDS, values, strict=True)))
    return {"file": folder / "test.tsv"}


def as_h5(folder: Path) -> dict[str, Any]:
    """A data set for each image, as captioning code with region features has them."""
    with h5py.File(folder / "detections.hdf5", "w") as file:
        for row, i in enumerate(IDS):
            file[f"{i}_features"], file[f"{i}_boxes"] = FEATURES[row], CORNERS[row]
            file[f"{i}_cls_prob"] = np.zeros(3)
    return {"file": folder / "detections.hdf5"}


def as_h5_arrays(folder: Path) -> dict[str, Any]:
    with h5py.File(folder / "all.h5", "w") as file:
        file["features"], file["image_ids"], file["boxes"] = FEATURES, np.array(IDS), CORNERS
    return {"file": folder / "all.h5"}


def text(array: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(array)).decode()


def load(image_ids: tuple[int, ...] = IDS, /, **options: Any) -> Regions:
    source = BottomUpRegions(**{"dim": 8, **options})
    data = dataset(image_ids)
    assert source.missing(data) is None
    return source.load(data)


@pytest.mark.parametrize("form", [as_npy, as_npz, as_folder, as_tsv, as_h5, as_h5_arrays])
def test_each_form_is_read_back(tmp_path: Path, form: Callable[[Path], dict[str, Any]]) -> None:
    options = form(tmp_path)
    # in the dataset's order, with an image in between that the file does not have
    regions = load((7, 41, 42, 5193), **options)
    assert regions.mask.sum(axis=1).tolist() == [6, 0, 6, 6]
    np.testing.assert_array_equal(regions.features[[0, 2, 3]], FEATURES)
    # float32 pixels through a division: half a thousandth of a pixel
    np.testing.assert_allclose(regions.boxes[[0, 2, 3]], CORNERS, atol=1e-6)
    assert regions.labels[0] == ("",) * 6
    assert not regions.features[1].any()
    np.testing.assert_array_equal(load((42,), **options, most=4).features[0], FEATURES[1, :4])


def test_ids_that_are_listed_once_a_caption(tmp_path: Path) -> None:
    np.save(tmp_path / "test_ims.npy", FEATURES)
    ids = tmp_path / "other.json"
    ids.write_text(json.dumps([i for i in IDS for _ in range(5)]))
    regions = load(file=tmp_path / "test_ims.npy", ids=ids)
    np.testing.assert_array_equal(regions.features, FEATURES)
    assert not regions.boxes.any()
    # features that are repeated for each caption, too: the first one counts
    np.save(tmp_path / "test_ims.npy", np.repeat(FEATURES, 5, axis=0))
    regions = load(file=tmp_path / "test_ims.npy", ids=ids)
    np.testing.assert_array_equal(regions.features, FEATURES)


def test_boxes_in_pixels_of_unknown_size(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    np.savez(tmp_path / "a.npz", features=FEATURES, image_ids=IDS, boxes=PIXELS)
    regions = load(file=tmp_path / "a.npz")
    expected = PIXELS / np.tile(PIXELS[:, :, 2:].max(axis=1), 2)[:, None, :]
    np.testing.assert_allclose(regions.boxes, expected, rtol=1e-6)
    assert "boxes of 3 images are in pixels" in caplog.text


def test_image_keys() -> None:
    long = "COCO_val2014_000000000042.jpg"
    values = (42, "42", "000000000042", long, b"42", f"val2014/{long}", "42.npz", np.int64(42))
    assert {image_key(value) for value in values} == {"42"}
    names = "1000268201_693b08cb0e", "dog_7"
    assert tuple(image_key(f"{name}.jpg") for name in names) == names


def row(**changes: object) -> str:
    good = dict(
        zip(
            TSV_FIELDS,
            (7, 640, 480, 6, text(PIXELS[0].astype("f4")), text(FEATURES[0])),
            strict=True,
        )
    )
    return "\t".join(str(v) for v in {**good, **changes}.values()) + "\n"


WRONG_LINES = [
    ("7\t640\t480\n", "line 1: has 3 fields instead of 6"),
    (row(num_boxes="six"), "line 1, field 'num_boxes': must be a whole number"),
    (row(image_w=0), "field 'image_w': must be a whole number above 0, not '0'"),
    (row(num_boxes=5), "field 'boxes': holds 96 bytes, which is not float32 data of 5 regions"),
    (row(features=text(FEATURES[0])[:-9]), "field 'features'"),
    (row(features="?!"), "field 'features': is not base64"),
    (row(features=text(FEATURES[0][:, :4])), "are 4 wide, not regions.dim=8"),
    (row(features=text(FEATURES[0] * np.inf)), "are not all finite"),
    (row(boxes=text(PIXELS[0].astype("f4") * np.nan)), "field 'boxes': should be finite"),
    (row(image_id=8), "holds none of the 3 images of 'tiny'"),
    ("\u00e4", "is not tab-separated text"),
]


def npz(**arrays: Any) -> Callable[[Path], dict[str, Any]]:
    def write(folder: Path) -> dict[str, Any]:
        np.savez(folder / "a.npz", **arrays)
        return {"file": folder / "a.npz"}

    return write


def npy(array: Any, ids: str | None = "7\n42\n5193\n", boxes: Any = None) -> Any:
    def write(folder: Path) -> dict[str, Any]:
        np.save(folder / "a.npy", array, allow_pickle=True)
        if ids is not None:
            (folder / "a_ids.txt").write_text(ids)
        if boxes is not None:
            np.save(folder / "boxes.npy", boxes)
        return {
            "file": folder / "a.npy",
            "boxes": folder / "boxes.npy" if boxes is not None else None,
        }

    return write


def two_entries(folder: Path) -> dict[str, Any]:
    (folder / "folder").mkdir()
    for name, features in zip(("7", "000007"), FEATURES, strict=False):
        np.save(folder / f"folder/{name}.npy", features)
    return {"file": folder / "folder"}


def raw(name: str, content: bytes) -> Callable[[Path], dict[str, Any]]:
    def write(folder: Path) -> dict[str, Any]:
        (folder / name).write_bytes(content)
        (folder / "ids.txt").write_text("7\n42\n5193\n")
        return {"file": folder / name}

    return write


def cut(form: Callable[[Path], dict[str, Any]]) -> Callable[[Path], dict[str, Any]]:
    def write(folder: Path) -> dict[str, Any]:
        options = form(folder)
        path: Path = options["file"]
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        return options

    return write


@pytest.mark.parametrize(
    ("form", "message"),
    [
        (npy(FEATURES[0], ids="1\n2\n3\n4\n5\n6\n"), "should be [6, regions, width], not [6, 8]"),
        (npy(FEATURES, ids=None), "its list of ids, a_ids.txt, is missing"),
        (npy(FEATURES, ids="7\n42\n"), "names 2 images for the 3"),
        (npy(FEATURES, boxes=CORNERS[:, :5]), "should be [3, 6, 4], not [3, 5, 4]"),
        (npy(np.array([{"a": 1}], dtype=object)), "is not a NumPy array"),  # a pickle
        (npy(np.full((3, 6, 8), "x")), "should be numbers [regions, 8]"),
        (npy(np.zeros((3, 0, 8))), "should be numbers [regions, 8], not [0, 8]"),
        (cut(as_npy), "is not a NumPy array, or is cut short"),
        (raw("a.npy", b""), "is not a NumPy array, or is cut short"),
        (npz(image_ids=IDS), "field 'features': is missing"),
        (npz(features=FEATURES), "field 'image_ids': is missing"),
        (npz(features=FEATURES, image_ids=IDS[:2]), "field 'features': should be [2, regions"),
        (npz(features=FEATURES, image_ids=IDS, boxes=CORNERS[0]), "field 'boxes': should be"),
        (npz(features=FEATURES, image_ids=np.array(IDS, object)), "'image_ids': is not a NumPy"),
        (cut(as_npz), "is not a NumPy archive, or is cut short"),
        (raw("a.npz", b"PK\x03\x04 nothing"), "is not a NumPy archive, or is cut short"),
        (npz(features=FEATURES, image_ids=["7", "42", "007"]), "features for the same image '7'"),
        (two_entries, "holds different features for the same image '7'"),
        (npz(features=FEATURES, image_ids=IDS, boxes=PIXELS.astype("U8")), "finite numbers"),
        (npz(features=FEATURES, image_ids=[b"\xff\xfe"] * 3), "holds none of the 3 images"),
        (raw("a.tsv", b""), "holds none of the 3 images"),
        (raw("a.h5", b"\x89HDF nothing"), "cannot be read as HDF5"),
        (cut(as_h5), "cannot be read as HDF5"),
        *((raw("a.tsv", line.encode()), message) for line, message in WRONG_LINES),
    ],
)
def test_a_wrong_file_is_one_line(
    tmp_path: Path, form: Callable[[Path], dict[str, Any]], message: str
) -> None:
    options = form(tmp_path)
    with pytest.raises(InputError, match=re.escape(message)) as error:
        load(**options)
    assert str(tmp_path) in str(error.value)
    assert "\n" not in str(error.value)


def test_missing_parts_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no.npy not found" in BottomUpRegions(tmp_path / "no.npy").missing(dataset()).reason
    assert BottomUpRegions(tmp_path / "no.npy", dim=4).identity().startswith("bottomup-4-")
    (tmp_path / "a.h5").write_bytes(b"")
    monkeypatch.setattr("metaeval.compute.device.find_spec", lambda name: None)
    assert "h5py is not installed" in BottomUpRegions(tmp_path / "a.h5").missing(dataset()).reason


def test_an_image_with_two_sets_of_references_has_its_regions_twice(tmp_path: Path) -> None:
    source = BottomUpRegions(dim=8, **as_npz(tmp_path))
    regions = source.load(dataset((7, 42, 42, 5193)))
    np.testing.assert_array_equal(regions.features, FEATURES[[0, 1, 1, 2]])
    assert regions.mask.all()
    with pytest.raises(InputError, match="are equal without folder"):
        source.load(dataset(("000042", "42")))
    # images may have different numbers of regions
    np.save(tmp_path / "7.npy", FEATURES[0, :2])
    np.save(tmp_path / "42.npy", FEATURES[1])
    (tmp_path / "all.npz").unlink()
    assert [len(names) for names in load((7, 42), file=tmp_path).labels] == [2, 6]
