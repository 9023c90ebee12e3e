"""A link that saves a table holds the very file that the run's folder has."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

from metaeval.reports.paper.citations import save_links
from metaeval.reports.shared.print_tables import plain_table, write_tables
from metaeval.runs import files


def test_links_hold_the_files(tmp_path: Path) -> None:
    rows = [['A "quoted", #1 & 100%', "0.5"], ["ρ\n<script>", "–"]]
    tables = [plain_table(name, "All <of> it.", ["Metric", "ρ"], rows) for name in ("t", "t-part")]
    write_tables(tmp_path, tables)
    whole, part = save_links(tables)
    assert (whole.choice, part.choice) == ("", "part")
    for group in (whole, part):
        for link in group.links:
            head, _, body = link.href.partition(",")
            assert head.startswith("data:")
            assert head.endswith(";charset=utf-8")
            assert unquote(body) == (tmp_path / files.TABLES / link.name).read_text("utf-8")
            assert not set(body) & set('"<> #&\n')  # nothing that ends an attribute or a link
    assert [link.name for link in part.links] == ["t-part.csv", "t-part.tex", "t-part.md"]
    assert save_links([]) == []
