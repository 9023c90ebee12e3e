"""What the best control gets, in sentences: it sees nothing of what is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reports.shared.formatting import capital, listed, percent


def control_sentences(controls: Mapping[str, Mapping[str, Any]], where: str) -> list[str]:
    """The kinds of pairs that a control wins, and those on which no metric is surely above one."""
    sentences = []
    won = {kind: c for kind, c in controls.items() if c["shows"] == "nothing"}
    if won:
        told = [
            f"{kind} ({c['control']} {percent(c['value'])}, best metric {c['best']} "
            f"{percent(c['best_value'])})"
            for kind, c in won.items()
        ]
        sentences.append(
            capital(
                f"{where}nothing is shown by {listed(told)}: a control, which is no metric, gets "
                "as much as every metric."
            )
        )
    unsure = [kind for kind, c in controls.items() if c["shows"] == "unsure"]
    if unsure:
        sentences.append(
            capital(f"{where}on {listed(unsure)} no metric is surely above the best control.")
        )
    if not won and not unsure:
        sentences.append(capital(f"{where}on every kind some metric is above the best control."))
    return sentences
