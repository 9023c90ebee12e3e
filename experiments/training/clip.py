"""Training a small CLIP on the embedded scenes: `python -m metaeval experiment=train_clip`.

Writes weights, a card and the digests of the training images into the run's folder; copied to
`metaeval/weights/scenes_clip/`, they make CLIPScore and RefCLIPScore real on the scenes without
any download. Pictures and captions of the split "train" are learned from; those of "dev" are only
looked at once, at the end, for the card.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from omegaconf import DictConfig
from tqdm import tqdm

from metaeval.compute.device import resolve
from metaeval.compute.requirements import missing_packages
from metaeval.config import plain
from metaeval.data.dataset import CaptionDataset
from metaeval.data.scenes import load_scenes
from metaeval.errors import ConfigError
from metaeval.metrics.clipscore.pixels import pixels_of
from metaeval.metrics.clipscore.text import WordTokenizer, text_features, words_of
from metaeval.metrics.clipscore.training import PREFIX, augmented, captions_of, evaluate
from metaeval.weights.cards import trained_on, write_card

if TYPE_CHECKING:
    import torch


class TrainClip:
    """Contrastive training of an open_clip model with a vocabulary of its own.

    Parameters
    ----------
    n_train, n_held_out
        How many scenes of the splits "train" and "dev".
    image_size, vision, text, embed_dim
        open_clip's model configuration (`vision_cfg`, `text_cfg` without the vocabulary).
    epochs, minutes
        Passes over the training images; the time after which training is cut short at the latest
        (the learning rate follows whichever ends first), `None` for no limit. With a limit that
        is reached, the weights depend on how fast the machine is.
    batch, learning_rate, weight_decay, warmup
        AdamW with a cosine schedule; `warmup` is a share of the training.
    captions
        Captions of an image that each step contrasts with it.
    threads
        Processor threads, `None` for torch's choice.
    """

    name: ClassVar[str] = "train_clip"

    def __init__(
        self,
        n_train: int,
        n_held_out: int,
        image_size: int,
        embed_dim: int,
        vision: Mapping[str, Any],
        text: Mapping[str, Any],
        epochs: int,
        minutes: float | None,
        batch: int,
        learning_rate: float,
        weight_decay: float,
        warmup: float,
        captions: int = 2,
        device: str = "auto",
        threads: int | None = None,
    ) -> None:
        if (
            absent := missing_packages("train_clip", "torch", "open_clip", "safetensors")
        ) is not None:
            raise ConfigError(str(absent))
        self.n_train, self.n_held_out, self.image_size = n_train, n_held_out, image_size
        self.vision = {"image_size": image_size, **plain(vision)}
        self.text, self.embed_dim = plain(text), embed_dim
        self.epochs, self.minutes, self.batch = epochs, minutes, batch
        self.learning_rate, self.weight_decay = learning_rate, weight_decay
        self.warmup, self.captions = warmup, captions
        self.device, self.threads = device, threads

    def run(self, config: DictConfig, out: Path) -> dict[str, Any]:
        """Train, evaluate on held-out scenes, and write model.safetensors and card.json."""
        import torch

        if not str(config.dataset.get("_target_", "")).endswith("load_scenes"):
            raise ConfigError("train_clip learns from the scenes: add dataset=scenes")
        if self.threads is not None:
            torch.set_num_threads(self.threads)
        torch.manual_seed(config.seed)
        seed = int(config.dataset.seed)
        options = {"seed": seed, "size": int(config.dataset.size), "cache": config.paths.cache}
        train = load_scenes(split="train", n=self.n_train, **options)
        held_out = load_scenes(split="dev", n=self.n_held_out, **options)
        device = resolve(self.device)
        pixels = pixels_of(train, self.image_size)
        tokenizer = WordTokenizer(
            words_of([PREFIX, *(t for texts in captions_of(train) for t in texts)]),
            int(self.text["context_length"]),
        )
        model_cfg = {
            "embed_dim": self.embed_dim,
            "vision_cfg": self.vision,
            "text_cfg": {**self.text, "vocab_size": tokenizer.vocab_size},
        }
        model = _clip(model_cfg).to(device)
        started = time.perf_counter()
        steps, loss = self._fit(model, pixels, train, tokenizer, int(config.seed), device)
        seconds = time.perf_counter() - started
        found = evaluate(model, held_out, tokenizer, self.image_size, device)
        parameters = sum(p.numel() for p in model.parameters())
        card = {
            "name": "scenes",
            "what": "a small CLIP for the drawn scenes only, never for photographs",
            "model_cfg": model_cfg,
            "words": list(tokenizer.words),
            "parameters": parameters,
            "prefix": PREFIX,
            "command": "python -m metaeval experiment=train_clip dataset=scenes",
            "seed": int(config.seed),
            "data": {
                "dataset": "scenes",
                "split": "train",
                "seed": seed,
                "n": len(train),
                "captions_sha256": dict(train.sources),
            },
            "training": {
                "steps": steps,
                "batch": self.batch,
                "captions_per_image": self.captions,
                "epochs": round(steps * self.batch / len(train), 2),
                "last_loss": round(loss, 4),
                "seconds": round(seconds),
                "device": str(device),
            },
            "held_out": {"split": "dev", "n_images": len(held_out), **found},
        }
        write_card(out, model, card, trained_on(train))
        print(
            f"{parameters:,} parameters, {steps:,} steps in {seconds:,.0f} s; {found}", flush=True
        )
        return card

    def _fit(
        self,
        model: Any,
        pixels: npt.NDArray[np.uint8],
        train: CaptionDataset,
        tokenizer: WordTokenizer,
        seed: int,
        device: torch.device,
    ) -> tuple[int, float]:
        """Train the model in place; how many steps there were, and the last mean loss."""
        import torch

        functional = torch.nn.functional
        texts = captions_of(train)
        tokens = [tokenizer([PREFIX + t for t in each]).numpy().astype(np.int32) for each in texts]
        rng = np.random.default_rng(seed)
        decay = [p for p in model.parameters() if p.ndim >= 2]
        rest = [p for p in model.parameters() if p.ndim < 2]
        optimizer = torch.optim.AdamW(
            [
                {"params": decay, "weight_decay": self.weight_decay},
                {"params": rest, "weight_decay": 0.0},
            ],
            lr=self.learning_rate,
            betas=(0.9, 0.98),
        )  # fmt: skip
        total = max(1, self.epochs * len(train) // self.batch)
        started, step, losses = time.perf_counter(), 0, [math.nan]
        model.train()
        # a third less time for convolutions of few channels on a CPU
        model.visual.to(memory_format=torch.channels_last)
        with tqdm(total=total, desc="training", unit=" steps", delay=2) as bar:
            while True:
                # the schedule runs over the share of the work or of the time, whichever is further
                share = step / total
                if self.minutes is not None:
                    share = max(share, (time.perf_counter() - started) / (60 * self.minutes))
                if share >= 1:
                    break
                for group in optimizer.param_groups:
                    rising = min(1.0, share / self.warmup) if self.warmup else 1.0
                    group["lr"] = (
                        self.learning_rate * rising * 0.5 * (1 + math.cos(math.pi * share))
                    )
                rows = rng.choice(len(train), size=min(self.batch, len(train)), replace=False)
                images = augmented(pixels[rows], rng).to(device, memory_format=torch.channels_last)
                image = functional.normalize(model.encode_image(images), dim=-1)
                scale = model.logit_scale.exp().clamp(max=100)
                target = torch.arange(len(rows), device=device)
                picks = [rng.permutation(len(tokens[row]))[: self.captions] for row in rows]
                loss = torch.zeros((), device=device)
                for k in range(self.captions):
                    ids = np.stack(
                        [tokens[r][p[k % len(p)]] for r, p in zip(rows, picks, strict=True)]
                    )
                    ids = ids[:, : int((ids > 0).sum(axis=1).max())].astype(np.int64)
                    text = functional.normalize(
                        text_features(model, torch.from_numpy(ids).to(device)), dim=-1
                    )
                    logits = scale * image @ text.T
                    loss = loss + functional.cross_entropy(logits, target)
                    loss = loss + functional.cross_entropy(logits.T, target)
                loss = loss / (2 * self.captions)
                optimizer.zero_grad(set_to_none=True)
                loss.backward()  # type: ignore[no-untyped-call]
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                step += 1
                losses = [*losses[-49:], float(loss.detach())]
                bar.set_postfix_str(f"loss {np.nanmean(losses):.3f}", refresh=False)
                bar.update()
        model.eval()
        return step, float(np.nanmean(losses)) if step else math.nan


def _clip(model_cfg: Mapping[str, Any]) -> Any:
    return import_module("open_clip.model").CLIP(**model_cfg)
