"""One training loop for the grounded models: seeded, resumable to the last bit, stopped by dev.

The caller brings the model and three functions; here are the optimiser, the schedule, the choice of
the best epoch and the checkpoint. Every epoch starts from seeds of its own, (seed, epoch), so a
training that was interrupted goes on exactly as it would have.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tqdm import tqdm

from metaeval.errors import ConfigError
from metaeval.training.checkpoint import Progress, read_state, write_state
from metaeval.training.settings import Trained, TrainingSettings

if TYPE_CHECKING:
    import torch

log = logging.getLogger(__name__)

__all__ = ["Trained", "TrainingSettings", "fit"]


def fit(
    model: torch.nn.Module,
    batches: Callable[[int, np.random.Generator], Sequence[Any]],
    loss: Callable[[Any, int], torch.Tensor],
    validate: Callable[[], Mapping[str, Any]],
    settings: TrainingSettings,
    checkpoint: Path | None = None,
    identity: str = "",
    title: str = "training",
) -> Trained:
    """Train a model in place; afterwards it is in eval mode, with the weights of the best epoch.

    Parameters
    ----------
    model
        Its parameters that require a gradient are trained. It should have its first weights.
    batches
        (epoch from 0, the epoch's generator) → the epoch's batches, of any kind.
    loss
        (batch, epoch) → what to make smaller, a scalar. The model is in training mode.
    validate
        → numbers about the dev split, `settings.select` among them. The model is in eval mode,
        without gradients; called after every epoch.
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
    trained, best, average = Trained(), {}, {}
    mark = f"{settings}|{identity}"
    if settings.average:
        average = {k: v.detach().clone() for k, v in model.state_dict().items()}
    if checkpoint is not None and checkpoint.is_file():
        state = read_state(checkpoint, mark, device)
        _restore(model, optimizer, state)
        best, average = state.best, state.average
        trained = Trained(**state.numbers)
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
                _follow(average, model, settings.average, trained.steps)
                trained.steps += 1
        found = dict(_validated(model, average, validate))
        if settings.select not in found:
            raise ConfigError(f"training.select: the validation tells no '{settings.select}'")
        mean = float(losses) / max(1, len(todo))
        if not math.isfinite(mean):
            raise ConfigError(
                f"the loss is {mean} in epoch {epoch + 1}: lower training.learning_rate"
            )
        score = float(found[settings.select])
        if not math.isfinite(score):
            raise ConfigError(f"'{settings.select}' of the validation is {score}")
        if score > trained.best:
            trained.best, trained.best_epoch = score, epoch + 1
            kept = average or model.state_dict()
            best = {k: v.detach().clone() for k, v in kept.items()}
        seconds = time.perf_counter() - started
        trained.seconds += seconds
        trained.history.append({
            "epoch": epoch + 1, "loss": round(mean, 6), "learning_rate": rate if todo else 0.0,
            "seconds": round(seconds, 2), **found,
        })  # fmt: skip
        waited = epoch + 1 - trained.best_epoch
        trained.stopped_early = bool(settings.patience) and waited >= settings.patience
        if checkpoint is not None:
            progress = Progress(dict(model.state_dict()), best, average, {}, asdict(trained))
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


def _restore(model: torch.nn.Module, optimizer: torch.optim.Optimizer, state: Progress) -> None:
    """Put a checkpoint's weights and the optimiser's state back."""
    model.load_state_dict(state.model)
    plain = optimizer.state_dict()
    plain["state"] = {}
    for key, value in state.optimizer.items():
        number, name = key.split(".", 1)
        plain["state"].setdefault(int(number), {})[name] = value
    optimizer.load_state_dict(plain)


def _follow(
    average: dict[str, torch.Tensor], model: torch.nn.Module, decay: float, step: int
) -> None:
    """Move the running average towards the weights; faster in the first steps."""
    if not average:
        return
    import torch

    decay = min(decay, (1 + step) / (10 + step))
    with torch.no_grad():
        for name, value in model.state_dict().items():
            if value.is_floating_point():
                average[name].lerp_(value, 1 - decay)
            else:
                average[name].copy_(value)


def _validated(
    model: torch.nn.Module,
    average: dict[str, torch.Tensor],
    validate: Callable[[], Mapping[str, Any]],
) -> Mapping[str, Any]:
    """What the validation says of the model, or of the average where there is one."""
    import torch

    model.eval()
    own = {k: v.detach().clone() for k, v in model.state_dict().items()} if average else {}
    if average:
        model.load_state_dict(average)
    try:
        with torch.inference_mode():
            return validate()
    finally:
        if own:
            model.load_state_dict(own)
