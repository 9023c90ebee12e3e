"""Pictures: of a photograph's size, of formats that run nothing, and damaged ones counted."""

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from metaeval.data.scenes.load import load_scenes
from metaeval.errors import InputError
from metaeval.readers.images import open_image


def announcing_png(path: Path, width: int, height: int, depth: int, pixels: bytes) -> Path:
    """A PNG that says that it has so many pixels, and holds others."""
    header = struct.pack(">IIBBBBB", width, height, 8, depth, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(pixels)), (b"IEND", b""))
    parts = (
        struct.pack(">I", len(d)) + t + d + struct.pack(">I", zlib.crc32(t + d)) for t, d in chunks
    )
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(parts))
    return path


def opened(path: Path) -> np.ndarray:
    with open_image(path) as image:
        return np.asarray(image)


def test_what_is_no_picture_of_a_photographs_size_is_refused(tmp_path: Path) -> None:
    unread = "cannot be read as an image"
    row = bytes(120_000_000)
    long = "a side of 119,999,999 pixels, at most 65,535"
    for name, width, height, depth, pixels, problem in (
        ("huge.png", 20_000, 20_000, 2, bytes(1000), f"{unread}.*pixels"),
        ("empty.png", 100, 100, 2, bytes(1000), unread),
        ("row.png", 119_999_999, 1, 0, row, long),  # before it is decoded
    ):
        path = announcing_png(tmp_path / name, width, height, depth, pixels)
        with pytest.raises(InputError, match=rf"{name}: .*{problem}"):
            opened(path)


def test_formats_that_run_programs_are_not_opened(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n%%EOF\n"
    )
    with pytest.raises(InputError, match=r"a\.jpg: cannot be read as an image"):
        opened(tmp_path / "a.jpg")


def test_pictures_are_as_pillow_reads_them(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (20, 30, 3)).astype(np.uint8)
    for suffix in ("png", "jpg", "webp", "gif", "bmp", "tif", "ppm"):
        path = tmp_path / f"a.{suffix}"
        Image.fromarray(pixels).save(path)
        with Image.open(path) as image:
            assert (opened(path) == np.asarray(image.convert("RGB"))).all()


@pytest.mark.parametrize(
    ("values", "suffix"),
    [
        (np.array([[0, 32_639], [32_896, 65_535]], np.uint16), "png"),
        (np.array([[0, 32_639], [32_896, 65_535]], np.int32), "tif"),
        (np.array([[0, 0.498], [0.502, 1]], np.float32), "tif"),
    ],
)
def test_deep_grey_is_scaled_and_not_cut_off(values, suffix, tmp_path: Path) -> None:
    path = tmp_path / f"a.{suffix}"
    Image.fromarray(values).save(path)
    expected = np.repeat(np.array([[0, 127], [128, 255]])[..., None], 3, axis=2)
    np.testing.assert_array_equal(opened(path), expected)


@pytest.mark.parametrize("value", [2.0, -0.1, np.nan])
def test_floating_point_values_of_another_scale_are_refused(value, tmp_path: Path) -> None:
    Image.fromarray(np.array([[0, value]], np.float32)).save(tmp_path / "a.tif")
    with pytest.raises(InputError, match=r"a\.tif: cannot be read as an image \(its values are in"):
        opened(tmp_path / "a.tif")


def test_an_image_is_upright_as_its_camera_noted(tmp_path: Path) -> None:
    pixels = np.zeros((2, 4, 3), np.uint8)
    pixels[0, 0] = 255
    image = Image.fromarray(pixels)
    exif = image.getexif()
    exif[0x0112] = 6  # to be turned by a quarter, clockwise
    image.save(tmp_path / "a.png", exif=exif)
    upright = opened(tmp_path / "a.png")
    assert (upright.shape, upright[0, 1].tolist()) == ((4, 2, 3), [255, 255, 255])


def test_a_damaged_scene_is_drawn_again(tmp_path: Path) -> None:
    scenes = load_scenes(n=3, cache=tmp_path)
    first = scenes.image_ids[0]
    path = scenes.part("images").path(first)
    whole = path.read_bytes()
    for harmed in (b"", whole[:100], whole[:-1], whole[:200] + b"\0\0" + whole[202:], whole + b"x"):
        path.write_bytes(harmed)
        again = load_scenes(n=3, cache=tmp_path).part("images").path(first)
        assert (again, path.read_bytes()) == (path, whole)
