"""One training loop for all networks: seeded, resumable to the last bit, stopped by dev.

The caller brings the network and three functions; here are the optimiser, the schedule, the choice
of the best epoch and the checkpoint. Every epoch starts from seeds of its own, (seed, epoch), so a
training that was interrupted goes on exactly as it would have.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from tqdm import tqdm

from metaeval.errors import ConfigError
from metaeval.training.checkpoint import Progress, read_state, write_state
from metaeval.training.settings import Trained, TrainingSettings

if TYPE_CHECKING:
    import torch
    from torch.optim.swa_utils import AveragedModel

log = logging.getLogger(__name__)

__all__ = ["Trained", "TrainingSettings", "fit"]

Network = TypeVar("Network", bound="torch.nn.Module")


def fit(
    model: Network,
    batches: Callable[[int, np.random.Generator], Sequence[Any]],
    loss: Callable[[Any, int], torch.Tensor],
    validate: Callable[[Network], Mapping[str, Any]],
    settings: TrainingSettings,
    checkpoint: Path | None = None,
    identity: str = "",
    title: str = "training",
) -> Trained:
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
    import torch

    device = next(model.parameters()).device
    optimizer = _optimizer(model, settings)
    average = _average(model, settings.average) if settings.average else None
    kept: Network = model if average is None else average.module  # type: ignore[assignment]
    trained, best = Trained(), {}
    mark = f"{settings}|{identity}"
    if checkpoint is not None and checkpoint.is_file():
        state = read_state(checkpoint, mark, device)
        _restore(model, optimizer, state)
        best, trained = state.best, Trained(**state.numbers)
        if average is not None:
            kept.load_state_dict(state.average)
            average.n_averaged.fill_(1 + trained.steps)
        log.info("%s goes on after epoch %d of %s", title, len(trained.history), checkpoint)
    for epoch in range(len(trained.history), settings.epochs):
        if trained.stopped_early:
            break
        started = time.perf_counter()
        torch.manual_seed(int(np.random.SeedSequence([settings.seed, epoch]).generate_state(1)[0]))
        todo = batches(epoch, np.random.default_rng([settings.seed, epoch]))
        losses = torch.zeros((), device=device, dtype=torch.float64)
        model.train()
        with tqdm(todo, desc=f"{title} {epoch + 1}/{settings.epochs}", leave=False, delay=2) as bar:
            for i, batch in enumerate(bar):
                rate = settings.rate(epoch, i / len(todo))
                for group in optimizer.param_groups:
                    group["lr"] = rate
                optimizer.zero_grad(set_to_none=True)
                with torch.autocast(device.type, torch.bfloat16, enabled=settings.bf16):
                    value = loss(batch, epoch)
                value.backward()  # type: ignore[no-untyped-call]
                if settings.clip:
                    torch.nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
                optimizer.step()
                losses += value.detach()
                if average is not None:
                    average.update_parameters(model)
                trained.steps += 1
        kept.eval()
        with torch.inference_mode():
            measured = dict(validate(kept))
        if settings.select not in measured:
            raise ConfigError(f"task.training.select: the validation tells no '{settings.select}'")
        mean = float(losses) / max(1, len(todo))
        if not math.isfinite(mean):
            raise ConfigError(
                f"the loss is {mean} in epoch {epoch + 1}: lower task.training.learning_rate"
            )
        score = float(measured[settings.select])
        if not math.isfinite(score):
            raise ConfigError(f"'{settings.select}' of the validation is {score}")
        if score > trained.best:
            trained.best, trained.best_epoch = score, epoch + 1
            best = {k: v.detach().clone() for k, v in kept.state_dict().items()}
        seconds = time.perf_counter() - started
        trained.seconds += seconds
        trained.history.append({
            "epoch": epoch + 1, "loss": round(mean, 6), "learning_rate": rate if todo else 0.0,
            "seconds": round(seconds, 2), **measured,
        })  # fmt: skip
        waited = epoch + 1 - trained.best_epoch
        trained.stopped_early = bool(settings.patience) and waited >= settings.patience
        if checkpoint is not None:
            averaged = {} if average is None else kept.state_dict()
            progress = Progress(model.state_dict(), best, averaged, {}, asdict(trained))
            write_state(checkpoint, mark, progress, optimizer)
        log.info("%s epoch %d: loss %.4f, %s %.4g", title, epoch + 1, mean, settings.select, score)
    model.load_state_dict(best)
    model.eval()
    return trained


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


def _restore(model: torch.nn.Module, optimizer: torch.optim.Optimizer, state: Progress) -> None:
    """Put a checkpoint's weights and the optimiser's state back."""
    model.load_state_dict(state.model)
    plain = optimizer.state_dict()
    plain["state"] = {}
    for key, value in state.optimizer.items():
        number, name = key.split(".", 1)
        plain["state"].setdefault(int(number), {})[name] = value
    optimizer.load_state_dict(plain)
