"""One training loop for all networks: seeded, resumable to the last bit, stopped by dev.

The caller provides the network and three functions; here are the optimiser, the schedule, the
choice of the best epoch and the checkpoint. Every epoch starts from seeds of its own, (seed,
epoch), so a training that was interrupted goes on exactly as it would have.
"""

from __future__ import annotations

import json
import logging
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import numpy as np

from metaeval.compute.device import full_float32, inference
from metaeval.errors import ConfigError, InputError
from metaeval.options import (
    Below1,
    NotNegative,
    Positive,
    PositiveInt,
    checked,
)
from metaeval.progress import progress_bar
from metaeval.readers.checkpoints import read_safetensors
from metaeval.readers.files import parse_json

if TYPE_CHECKING:
    import torch
    from torch.optim.swa_utils import AveragedModel


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
        "cosine" lets it fall to 0 over all steps. It rises from 0 over
        the first `warmup` epochs (a fraction is fine) under either.
    weight_decay
        Decoupled (AdamW), on matrices only; 0 is plain Adam.
    clip
        The largest norm of the gradients of all parameters; 0 for none.
    average
        The decay of a running average of the weights over the steps (0.999); then the average is
        what is validated and kept. 0 for none.
    select
        Which of the validation's numbers chooses the best epoch; larger is better.
    seed
        Of batches, dropout and negatives. (The network's first weights are the caller's.)
    """

    epochs: PositiveInt = 30
    learning_rate: Positive = 5e-4
    schedule: Literal["step", "cosine"] = "step"
    decay_every: PositiveInt = 15
    decay: Positive = 0.1
    warmup: NotNegative = 0.0
    weight_decay: NotNegative = 0.0
    clip: NotNegative = 2.0
    average: Below1 = 0.0
    select: str = "rsum"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.warmup > self.epochs:
            raise ConfigError(f"task.training.warmup is {self.warmup}, more than all epochs")

    def rate(self, epoch: int, share: float) -> float:
        """The learning rate in epoch 0, 1, … after this share of its steps."""
        now = epoch + share
        rising = min(1.0, now / self.warmup) if self.warmup else 1.0
        if self.schedule == "step":
            factor = self.decay ** (epoch // self.decay_every)
        else:
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

    def card(self) -> dict[str, Any]:
        """As in a card."""
        return {**asdict(self), "best": round(self.best, 4), "seconds": round(self.seconds, 1)}


log = logging.getLogger(__name__)

Tensors = dict[str, "torch.Tensor"]


@dataclass(slots=True)
class Progress:
    """The state of a training after an epoch.

    `model`, `best` and `average` are state dictionaries (of now, of the best epoch, and of the
    running average), `optimizer` is the optimiser's state by "PARAMETER NUMBER.NAME", and `numbers`
    all the rest, as JSON can hold it.
    """

    model: Tensors
    best: Tensors
    average: Tensors
    optimizer: Tensors
    numbers: dict[str, Any]


def write_state(
    path: Path, mark: str, progress: Progress, optimizer: torch.optim.Optimizer
) -> None:
    """Write the file, whole or not at all; `mark` says which training this is."""
    import torch

    groups: dict[str, Tensors] = {
        "model": progress.model,
        "best": progress.best,
        "average": progress.average,
        "optimizer": {
            f"{number}.{name}": torch.as_tensor(value)
            for number, state in optimizer.state_dict()["state"].items()
            for name, value in state.items()
        },
    }
    tensors = {
        f"{group}/{name}": value.detach().cpu().contiguous().clone()
        for group, members in groups.items()
        for name, value in members.items()
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    metadata = {"mark": mark, "numbers": json.dumps(progress.numbers)}
    try:
        import_module("safetensors.torch").save_file(tensors, part, metadata)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def read_state(path: Path, mark: str, device: torch.device) -> Progress:
    """Read a checkpoint of the same training.

    Raises InputError for a file that is not such a checkpoint, ConfigError for another training's.
    """
    groups: dict[str, Tensors] = {"model": {}, "best": {}, "average": {}, "optimizer": {}}
    try:
        tensors, metadata = read_safetensors(path)
        for key, tensor in tensors.items():
            group, _, name = key.partition("/")
            groups[group][name] = tensor
        numbers = parse_json(metadata["numbers"], path)
        identity = metadata["mark"]
        if not isinstance(numbers, dict):
            raise KeyError("numbers")
    except (InputError, KeyError) as error:
        words = error.problem if isinstance(error, InputError) else f"{error} is missing"
        problem = f"is not a checkpoint of a training ({words}); delete it to start anew"
        raise InputError(problem, file=path) from None
    if identity != mark:
        raise ConfigError(
            f"{path} is the checkpoint of a training with other settings; delete it to start anew, "
            "or choose another folder"
        )
    for group in ("model", "best", "average"):
        groups[group] = {name: value.to(device) for name, value in groups[group].items()}
    return Progress(**groups, numbers=numbers)


Network = TypeVar("Network", bound="torch.nn.Module")
Loss = Callable[[Any, int], "torch.Tensor"]


def fit(
    model: Network,
    batches: Callable[[int, np.random.Generator], Sequence[Any]],
    loss: Loss,
    validate: Callable[[Network], Mapping[str, Any]],
    settings: TrainingSettings,
    checkpoint: Path | None = None,
    identity: str = "",
    title: str = "training",
) -> TrainingOutcome:
    """Train a network in place; afterwards it is in eval mode, with the weights of the best epoch.

    Parameters
    ----------
    model
        Its parameters that require a gradient are trained. It should have its first weights.
    batches
        (epoch from 0, the epoch's generator) → the epoch's batches, of any kind.
    loss
        (batch, epoch) → what to make smaller, a scalar. The network is in training mode.
    validate
        (network) → numbers about the dev split, `settings.select` among them. Called after every
        epoch, with `model` or, where there is one, with the average of its weights; in eval mode,
        without gradients.
    checkpoint
        A file, written whole after every epoch. Where it exists, the training goes on from it.
    identity
        What the caller's part of the training depends on (data, losses, architecture). A checkpoint
        of another identity, or of other settings, is refused with a ConfigError.
    title
        For the progress bar.
    """
    state = _State(model, settings, f"{settings}|{identity}")
    if checkpoint is not None and checkpoint.is_file():
        state.read(checkpoint)
        log.info("%s goes on after epoch %d of %s", title, len(state.trained.history), checkpoint)
    for epoch in range(len(state.trained.history), settings.epochs):
        started = time.perf_counter()
        mean, rate = state.run_epoch(epoch, batches, loss, f"{title} {epoch + 1}/{settings.epochs}")
        if not math.isfinite(mean):
            raise ConfigError(
                f"the loss is {mean} in epoch {epoch + 1}; lower task.training.learning_rate"
            )
        measured = state.measure(validate)
        state.record(mean, rate, time.perf_counter() - started, measured)
        if checkpoint is not None:
            state.write(checkpoint)
        score = measured[settings.select]
        log.info("%s epoch %d: loss %.4f, %s %.4g", title, epoch + 1, mean, settings.select, score)
    model.load_state_dict(state.best)
    model.eval()
    return state.trained


class _State(Generic[Network]):
    """A network under training, with all that a checkpoint holds; `mark` says which training."""

    def __init__(self, model: Network, settings: TrainingSettings, mark: str) -> None:
        self.model, self.settings, self.mark = model, settings, mark
        self.device = next(model.parameters()).device
        self.optimizer = _optimizer(model, settings)
        self.average = _average(model, settings.average) if settings.average else None
        # what is validated and kept
        self.kept: Network = model if self.average is None else self.average.module  # type: ignore[assignment]
        self.best: dict[str, torch.Tensor] = {}
        self.trained = TrainingOutcome()

    def run_epoch(
        self,
        epoch: int,
        batches: Callable[[int, np.random.Generator], Sequence[Any]],
        loss: Loss,
        title: str,
    ) -> tuple[float, float]:
        """One pass over an epoch's batches: the mean of their losses, and the last learning rate.

        Both are 0 without a batch.
        """
        import torch

        seed = [self.settings.seed, epoch]
        torch.manual_seed(int(np.random.SeedSequence(seed).generate_state(1)[0]))
        todo = batches(epoch, np.random.default_rng(seed))
        losses = torch.zeros((), device=self.device, dtype=torch.float64)
        rate = 0.0
        self.model.train()
        with progress_bar(todo, desc=title) as bar:
            for i, batch in enumerate(bar):
                rate = self.settings.rate(epoch, i / len(todo))
                with full_float32(self.device):
                    losses += self._step(batch, epoch, loss, rate)
        return float(losses) / max(1, len(todo)), rate

    def _step(self, batch: Any, epoch: int, loss: Loss, rate: float) -> torch.Tensor:
        import torch

        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad(set_to_none=True)
        value = loss(batch, epoch)
        value.backward()  # type: ignore[no-untyped-call]
        if self.settings.clip:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip)
        self.optimizer.step()
        if self.average is not None:
            self.average.update_parameters(self.model)
        self.trained.steps += 1
        return value.detach()

    def measure(self, validate: Callable[[Network], Mapping[str, Any]]) -> dict[str, Any]:
        """The validation's measures; ConfigError without a usable `select`."""

        self.kept.eval()
        with inference(self.device):
            measured = dict(validate(self.kept))
        select = self.settings.select
        if select not in measured:
            raise ConfigError(f"task.training.select: the validation does not measure '{select}'")
        if not math.isfinite(measured[select]):
            raise ConfigError(f"'{select}' of the validation is {measured[select]}")
        return measured

    def record(self, loss: float, rate: float, seconds: float, measured: Mapping[str, Any]) -> None:
        """Add an epoch to the history; keep its weights if it is the best so far."""
        trained, epoch = self.trained, len(self.trained.history) + 1
        score = float(measured[self.settings.select])
        if score > trained.best:
            trained.best, trained.best_epoch = score, epoch
            self.best = {k: v.detach().clone() for k, v in self.kept.state_dict().items()}
        trained.seconds += seconds
        trained.history.append(
            {
                "epoch": epoch,
                "loss": round(loss, 6),
                "learning_rate": rate,
                "seconds": round(seconds, 2),
                **measured,
            }
        )

    def write(self, path: Path) -> None:
        """Write the checkpoint."""
        averaged = {} if self.average is None else self.kept.state_dict()
        progress = Progress(self.model.state_dict(), self.best, averaged, {}, asdict(self.trained))
        write_state(path, self.mark, progress, self.optimizer)

    def read(self, path: Path) -> None:
        """Take everything from a checkpoint; errors as of `read_state`."""
        progress = read_state(path, self.mark, self.device)
        self.model.load_state_dict(progress.model)
        plain = self.optimizer.state_dict()
        plain["state"] = {}
        for key, value in progress.optimizer.items():
            number, name = key.split(".", 1)
            plain["state"].setdefault(int(number), {})[name] = value
        self.optimizer.load_state_dict(plain)
        self.best, self.trained = progress.best, TrainingOutcome(**progress.numbers)
        if self.average is not None:
            self.kept.load_state_dict(progress.average)
            self.average.n_averaged.fill_(1 + self.trained.steps)


def _optimizer(model: torch.nn.Module, settings: TrainingSettings) -> torch.optim.Optimizer:
    import torch

    trained = [p for p in model.parameters() if p.requires_grad]
    if not settings.weight_decay:
        return torch.optim.Adam(trained, lr=settings.learning_rate)
    groups = [
        {"params": [p for p in trained if p.ndim >= 2], "weight_decay": settings.weight_decay},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=settings.learning_rate)


def _average(model: torch.nn.Module, decay: float) -> AveragedModel:
    """A running average that begins with the first weights, and follows faster in first steps."""
    import torch
    from torch.optim.swa_utils import AveragedModel

    @torch.no_grad()
    def follow(averages: Any, values: Any, n_averaged: Any) -> None:
        n = int(n_averaged)
        share = 1 - min(decay, n / (9 + n))
        for average, value in zip(averages, values, strict=True):
            average.lerp_(value, share)

    device = next(model.parameters()).device
    averaged = AveragedModel(model, device, multi_avg_fn=follow)
    averaged.update_parameters(model)
    return averaged
