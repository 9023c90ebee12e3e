"""The generated parts of docs/ are those of conf/ and the annotations."""

from pathlib import Path

import pytest

from metaeval import choices
from metaeval.cli.main import run_verb
from metaeval.option_tables import HEADINGS, options, page
from tests.docs.generated import CONF, DOCS, current, options_of_files


@pytest.mark.docs
@pytest.mark.parametrize("path", sorted(DOCS.rglob("*.md")), ids=lambda p: str(p.relative_to(DOCS)))
def test_pages_are_current(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert current(text) == text, "run `make tables`"


def test_every_file_with_options_is_on_the_page_of_options() -> None:
    text = page()
    for group in HEADINGS:
        for path in (CONF / group).glob("*.yaml"):
            assert f"\n### {path.stem}\n" in text, path
    keys = [line.split("`")[1] for line in text.splitlines() if line.startswith("| `")]
    assert {"seed", "corruption.rates", "metric.cider.sigma", "task.preset"} <= set(keys)
    assert len(set(keys)) <= 450


def test_the_command_prints_the_options_of_a_users_folder_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "metric").mkdir()
    (tmp_path / "metric/mine.yaml").write_text(
        "# @package metric.mine\n# of mine\n_target_: not_installed.Mine\nsize: 3  # how large\n"
    )
    monkeypatch.setattr(choices, "_added", [])
    assert run_verb(["list", "options", "--config-dir", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "| `metric.mine.size` | `3` |  | how large |" in lines
    assert any(line.startswith("| `metric.cider.sigma` | ") for line in lines)


def test_an_option_is_the_files_value_and_comment_and_the_annotation(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "metric").mkdir()
    (tmp_path / "metric" / "mine.yaml").write_text(
        "# @package metric.mine\n# of mine\n_target_: metaeval.metrics.vifidel.metric.Vifidel\n"
        "vectors: ${vectors}\nfrequency: false  # how | often\nnoise:\n"
        "  dropped: 0.5   # a share,\n                 # of all\n"
    )
    (tmp_path / "metric" / "more.yaml").write_text(
        "defaults:\n  - mine@_here_\n  - _self_\nfrequency: true\n"
    )
    monkeypatch.setattr(choices, "config_folders", lambda: [tmp_path])
    assert [tuple(option) for option in options("metric/mine").values()] == [
        ("metric.mine.vectors", "${vectors}", "", "as `vectors`"),
        ("metric.mine.frequency", "false", "true or false", "how | often"),
        ("metric.mine.noise.dropped", "0.5", "a number in [0, 1]", "a share, of all"),
    ]
    row = options_of_files("metric/more:metric.more.frequency").splitlines()[-1]
    assert row == "| `metric.more.frequency` | `true` | true or false | how \\| often |"
