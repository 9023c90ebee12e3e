"""Numbers, lists and commands as they are printed."""

from metaeval.reports.shared import formatting
from metaeval.reports.shared.provenance import command_line


def test_numbers_in_print() -> None:
    assert (formatting.number(-0.1234), formatting.number(-0.0001)) == ("−0.123", "0.000")
    assert formatting.number(0.0161, sign=True) == "+0.016"
    assert formatting.number(None) == formatting.number(float("nan")) == "–"
    assert [formatting.percent(x) for x in (0, 0.0001, 0.386, 0.99999, 1)] == [
        "0.0%", "<0.1%", "38.6%", ">99.9%", "100.0%",
    ]  # fmt: skip
    assert [formatting.seconds(x) for x in (0.04, 12.4, 83)] == ["0.0 s", "12 s", "1 min 23 s"]


def test_names_of_files_are_unique() -> None:
    """Where letters are left out a digest follows; other scripts stay as they are."""
    names = ["X/Y", "X Y", "X_Y", "X:Y", "मीट", "मीठ", "e\u0301", "\u00e9", "a" * 300, "a" * 301]
    names += ["ü" * 190, "😀" * 190, ".", "..", "/", "X_Y-944415", "x/../../../../PWN", ".hidden"]
    stems = [formatting.file_stem(name) for name in names]
    assert len(set(stems)) == len(names)
    assert stems[2] == "X_Y"
    assert all(len(stem.encode()) < 70 and not set(stem) & set("/: ") for stem in stems)
    assert not any(stem.startswith(".") for stem in stems)
    assert [formatting.file_stem(name) for name in ("质量", "流畅")] == ["质量", "流畅"]
    assert formatting.file_stem("a/b c:../x").startswith("a_b_c_.._x-")


def test_commands_can_be_typed_again() -> None:
    assert command_line(["-m", "metaeval", "a=b c"]) == "python -m metaeval 'a=b c'"
    assert (command_line(["/somewhere/bin/metaeval", "x=1"]), command_line([])) == (
        "metaeval x=1",
        "",
    )
