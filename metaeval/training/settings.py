"""How a network is trained, and what came of it: see `metaeval.training.loop`."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from metaeval.errors import ConfigError
from metaeval.options import (
    Below1,
    NonNegativeInt,
    NotNegative,
    Positive,
    PositiveInt,
    checked,
)


@checked
@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """How to train.

    Attributes
    ----------
    epochs
        The maximum.
    learning_rate, schedule, decay_every, decay, warmup
        Adam's rate: "step" multiplies it by `decay` every `decay_every` epochs (SCAN, FAIEr),
        "cosine" lets it fall to 0 over all steps, "constant" leaves it. It rises from 0 over the
        first `warmup` epochs (a fraction is fine) under each of them.
    weight_decay
        Decoupled (AdamW), on matrices only; 0 is plain Adam.
    clip
        The largest norm of the gradients of all parameters; 0 for none.
    average
        The decay of a running average of the weights over the steps (0.999); then the average is
        what is validated and kept. 0 for none.
    patience
        Stop after this number of epochs without a better `select`; 0: never.
    select
        Which of the validation's numbers chooses the best epoch; larger is better.
    seed
        Of batches, dropout and negatives. (The network's first weights are the caller's.)
    bf16
        Whether the forward pass runs under bfloat16 autocast on a CUDA device; the weights stay
        float32. A processor trains in float32 either way.
    """

    epochs: PositiveInt = 30
    learning_rate: Positive = 5e-4
    schedule: Literal["step", "cosine", "constant"] = "step"
    decay_every: PositiveInt = 15
    decay: Positive = 0.1
    warmup: NotNegative = 0.0
    weight_decay: NotNegative = 0.0
    clip: NotNegative = 2.0
    average: Below1 = 0.0
    patience: NonNegativeInt = 0
    select: str = "rsum"
    seed: int = 0
    bf16: bool = False

    def __post_init__(self) -> None:
        if self.warmup > self.epochs:
            raise ConfigError(f"task.training.warmup is {self.warmup}, more than all epochs")

    def rate(self, epoch: int, share: float) -> float:
        """The learning rate in epoch 0, 1, … after this share of its steps."""
        now = epoch + share
        rising = min(1.0, now / self.warmup) if self.warmup else 1.0
        factor = 1.0
        if self.schedule == "step":
            factor = self.decay ** (epoch // self.decay_every)
        elif self.schedule == "cosine":
            factor = 0.5 * (1 + math.cos(math.pi * now / self.epochs))
        return self.learning_rate * rising * factor


@dataclass(slots=True)
class TrainingOutcome:
    """What a training did, for the card. The network holds the weights of `best_epoch`.

    `history` has a record for every epoch: epoch (from 1), loss (mean of its steps),
    learning_rate, seconds, and what the validation said. `seconds` is of all epochs, also those
    before an interruption.
    """

    history: list[dict[str, Any]] = field(default_factory=list)
    best_epoch: int = 0
    best: float = -math.inf
    steps: int = 0
    seconds: float = 0.0
    stopped_early: bool = False

    def card(self) -> dict[str, Any]:
        """As in a card."""
        return {**asdict(self), "best": round(self.best, 4), "seconds": round(self.seconds, 1)}
