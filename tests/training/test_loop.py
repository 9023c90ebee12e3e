"""The loop: an interrupted training ends as an uninterrupted one, bit by bit; the best is kept.

Steps are checked against torch's own optimisers, driven by hand in the test.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from metaeval.errors import ConfigError, InputError
from metaeval.training.loop import TrainingOutcome, TrainingSettings, fit

VARIANTS = {
    "step": {},
    "cosine, averaged": {
        "average": 0.9,
        "weight_decay": 0.1,
        "schedule": "cosine",
        "warmup": 0.5,
        "seed": 7,
    },
}


class Toy:
    """A small regression with dropout, whose validation returns given values."""

    def __init__(self, says: Callable[[int], float] | None = None, stop_at: int = 0) -> None:
        torch.manual_seed(3)
        self.model = torch.nn.Sequential(
            torch.nn.Linear(5, 7), torch.nn.Dropout(0.3), torch.nn.Linear(7, 1)
        )
        own = torch.Generator().manual_seed(0)
        self.x = torch.randn(200, 5, generator=own)
        self.y = (self.x**2).sum(dim=1, keepdim=True)
        self.says, self.stop_at, self.calls = says, stop_at, 0

    def batches(self, epoch: int, rng: np.random.Generator) -> Sequence[Any]:
        return [torch.from_numpy(rng.permutation(200)[:50]) for _ in range(6)]

    def loss(self, rows: Any, epoch: int) -> Any:
        return ((self.model(self.x[rows]) - self.y[rows]) ** 2).mean()

    def validate(self, model: torch.nn.Module) -> Mapping[str, float]:
        self.calls += 1
        if self.calls == self.stop_at:
            raise KeyboardInterrupt
        with torch.no_grad():
            error = float(((model(self.x) - self.y) ** 2).mean())
        return {"rsum": self.says(self.calls) if self.says else -error, "error": error}

    def fit(self, checkpoint: Path | None = None, **options: Any) -> TrainingOutcome:
        settings = TrainingSettings(**{"epochs": 6, **options})
        return fit(self.model, self.batches, self.loss, self.validate, settings, checkpoint)


def weights(toy: Toy) -> bytes:
    return b"".join(v.numpy().tobytes() for v in toy.model.state_dict().values())


def without_time(trained: TrainingOutcome) -> list[dict[str, Any]]:
    return [{k: v for k, v in each.items() if k != "seconds"} for each in trained.history]


@pytest.mark.parametrize("name", list(VARIANTS))
@pytest.mark.parametrize("stop_at", [1, 3])
def test_interrupted_and_resumed_is_uninterrupted(tmp_path: Path, name: str, stop_at: int) -> None:
    whole = Toy()
    expected = whole.fit(**VARIANTS[name])
    file = tmp_path / "run" / "training.safetensors"
    with pytest.raises(KeyboardInterrupt):
        Toy(stop_at=stop_at).fit(file, **VARIANTS[name])
    assert file.is_file() == (stop_at > 1)
    resumed = Toy()
    for p in resumed.model.parameters():
        torch.nn.init.ones_(p) if stop_at > 1 else None  # the file's weights count, not these
    found = resumed.fit(file, **VARIANTS[name])
    assert resumed.calls == whole.calls - stop_at + 1
    assert weights(resumed) == weights(whole)
    assert without_time(found) == without_time(expected)
    assert (found.best, found.best_epoch, found.steps) == (
        expected.best,
        expected.best_epoch,
        expected.steps,
    )
    assert [p.name for p in file.parent.iterdir()] == [file.name]  # nothing half-written
    # once more: nothing is left to do, and the result is the same
    done = Toy()
    again = done.fit(file, **VARIANTS[name])
    assert done.calls == 0
    assert weights(done) == weights(whole)
    assert again.seconds == found.seconds


def test_the_same_seed_gives_the_same_bytes_and_another_others() -> None:
    runs = []
    for seed in (0, 0, 1):
        toy = Toy()
        toy.fit(seed=seed, epochs=2)
        runs.append(weights(toy))
    assert runs[0] == runs[1] != runs[2]


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_steps_are_those_of_torch_by_hand(decay: float) -> None:
    toy = Toy()
    toy.model[1].p = 0.0
    toy.fit(epochs=3, decay_every=2, learning_rate=1e-2, clip=0.5, weight_decay=decay)

    hand = Toy()
    hand.model[1].p = 0.0
    matrices = [p for p in hand.model.parameters() if p.ndim == 2]
    vectors = [p for p in hand.model.parameters() if p.ndim == 1]
    optimizer = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": decay}, {"params": vectors, "weight_decay": 0.0}]
    )
    errors, kept = [], []
    for epoch, rate in enumerate((1e-2, 1e-2, 1e-3)):
        for rows in hand.batches(epoch, np.random.default_rng([0, epoch])):
            for group in optimizer.param_groups:
                group["lr"] = rate
            optimizer.zero_grad()
            hand.loss(rows, epoch).backward()
            norm = math.sqrt(sum(float((p.grad**2).sum()) for p in hand.model.parameters()))
            for p in hand.model.parameters():
                p.grad *= min(1.0, 0.5 / (norm + 1e-6))
            optimizer.step()
        errors.append(hand.validate(hand.model)["error"])
        kept.append([p.detach().clone() for p in hand.model.parameters()])
    best = kept[int(np.argmin(errors))]
    for own, other in zip(toy.model.parameters(), best, strict=True):
        # float32, the norm added up in another order
        torch.testing.assert_close(own.detach(), other, rtol=1e-4, atol=1e-6)


def test_the_average_follows_the_weights() -> None:
    toy = Toy()
    toy.fit(epochs=1, average=0.5)
    hand = Toy()
    average = [p.detach().clone() for p in hand.model.parameters()]
    torch.manual_seed(int(np.random.SeedSequence([0, 0]).generate_state(1)[0]))
    optimizer = torch.optim.Adam(hand.model.parameters(), lr=5e-4)
    for step, rows in enumerate(hand.batches(0, np.random.default_rng([0, 0]))):
        optimizer.zero_grad()
        hand.loss(rows, 0).backward()
        torch.nn.utils.clip_grad_norm_(hand.model.parameters(), 2.0)
        optimizer.step()
        keep = min(0.5, (1 + step) / (10 + step))
        average = [
            keep * a + (1 - keep) * p.detach()
            for a, p in zip(average, hand.model.parameters(), strict=True)
        ]
    for own, other in zip(toy.model.parameters(), average, strict=True):
        torch.testing.assert_close(own.detach(), other, rtol=1e-5, atol=1e-7)


def test_the_best_epoch_is_stored() -> None:
    says = {1: 1.0, 2: 5.0, 3: 2.0, 4: 5.0, 5: 3.0, 6: 4.0}
    toy, until = Toy(says.__getitem__), Toy(says.__getitem__)
    trained = toy.fit()
    until.fit(epochs=2)
    assert (trained.best_epoch, trained.best) == (2, 5.0)  # the first of equals
    assert weights(toy) == weights(until)
    assert not toy.model.training
    card = trained.card()
    assert [each["epoch"] for each in card["history"]] == [1, 2, 3, 4, 5, 6]
    assert card["steps"] == 36


def test_rates() -> None:
    step = TrainingSettings(epochs=30, learning_rate=1.0, decay_every=10, decay=0.1)
    assert [step.rate(e, 0.9) for e in (0, 9, 10, 29)] == pytest.approx([1, 1, 0.1, 0.01])
    cosine = TrainingSettings(epochs=10, learning_rate=2.0, schedule="cosine", warmup=2)
    assert cosine.rate(0, 0.0) == 0
    assert cosine.rate(1, 0.0) == pytest.approx(0.5 * (1 + math.cos(math.pi / 10)))
    assert cosine.rate(5, 0.0) == pytest.approx(1.0)
    assert cosine.rate(9, 1.0) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("option", "value"),
    [("epochs", 0), ("learning_rate", 0.0), ("schedule", "linear"), ("clip", -1), ("average", 1.0)],
)
def test_settings_that_make_no_sense_are_refused(option: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=rf"TrainingSettings\.{option}: "):
        TrainingSettings(**{option: value})


def test_a_checkpoint_of_another_training_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "training.safetensors"
    Toy().fit(file, epochs=1)
    with pytest.raises(ConfigError, match="other settings"):
        Toy().fit(file, epochs=2)
    toy = Toy()
    settings = TrainingSettings(epochs=1)
    with pytest.raises(ConfigError, match="other settings"):
        fit(toy.model, toy.batches, toy.loss, toy.validate, settings, file, identity="other data")


@pytest.mark.parametrize("damage", ["cut", "empty", "text", "strange", "bare"])
def test_a_broken_checkpoint_is_one_line(tmp_path: Path, damage: str) -> None:
    file = tmp_path / "training.safetensors"
    Toy().fit(file, epochs=1)
    raw = file.read_bytes()
    if damage in ("strange", "bare"):
        from safetensors.torch import save_file

        named = {"strange": {"x/y": torch.ones(1)}, "bare": {"model/0.weight": torch.ones(1)}}
        save_file(named[damage], file)
    else:
        file.write_bytes({"cut": raw[: len(raw) // 2], "empty": b"", "text": b"hello " * 9}[damage])
    with pytest.raises(InputError, match="not a checkpoint of a training") as error:
        Toy().fit(file, epochs=1)
    assert "\n" not in str(error.value)


def test_an_exploding_loss_is_reported() -> None:
    toy = Toy()
    settings = TrainingSettings(epochs=2)

    def broken(rows: Any, epoch: int) -> Any:
        return toy.loss(rows, epoch) * float("nan")

    with pytest.raises(ConfigError, match="loss is nan in epoch 1"):
        fit(toy.model, toy.batches, broken, toy.validate, settings)
    with pytest.raises(ConfigError, match="does not measure 'recall'"):
        Toy().fit(select="recall")
    with pytest.raises(ConfigError, match="'rsum' of the validation is nan"):
        Toy(lambda call: float("nan")).fit()
