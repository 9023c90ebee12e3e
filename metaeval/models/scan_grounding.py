"""Captions grounded in images by a SCAN network: many at a time, each as if it were alone.

Captions of one length are encoded together, always the same number of them (the last batch is
filled up), and compared together with images of about as many regions. So no padding of words is
computed, and every product has a shape that depends on the caption and its image alone: a caption
gets the same numbers, to the last bit, whatever else is in the call.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import torch

from metaeval.models.device import resolve
from metaeval.models.regions import Regions
from metaeval.models.scan import Scan
from metaeval.models.scan_attention import cosines
from metaeval.models.vocabulary import Vocabulary

Floats = npt.NDArray[np.float64]

_TOKENS = {"cpu": 1024, "cuda": 131_072}  # encoded at a time
_NUMBERS = {"cpu": 1 << 19, "cuda": 1 << 28}  # numbers of regions compared at a time
_STEP = 4  # an image's regions are padded to a multiple of this
_REGIONS = 1024  # encoded at a time


class Grounder:
    """A network, its words, and the regions of n images.

    Parameters
    ----------
    smooth
        λ of the attention.
    device
        "auto", "cpu", "cuda", "cuda:1". Encoders run in float32, attention in float64.
    """

    def __init__(
        self,
        model: Scan,
        vocabulary: Vocabulary,
        regions: Regions,
        smooth: float,
        device: str = "auto",
    ) -> None:
        self.device = resolve(device)
        self._model, self._vocabulary = model.to(self.device).eval(), vocabulary
        self._smooth = smooth
        self.n_regions = regions.mask.sum(axis=1)
        self.width = int(regions.mask.shape[1])
        self._vectors = self._encoded_regions(regions)
        # in float64, as everything behind the encoders
        self._lengths = torch.stack([own.double().norm(dim=1) for own in self._vectors])

    def grounding(self, captions: Sequence[str], images: npt.NDArray[np.intp]) -> Floats:
        """The grounding vector of each caption in its image: float64 [n, r], 0 behind the last.

        cos(vᵢ, aᵢ) of each region and the words it attends to, `<start>` and `<end>` among them.
        """
        out = np.zeros((len(captions), self.width))

        def work(rows: npt.NDArray[np.intp], regions: torch.Tensor, words: torch.Tensor) -> None:
            index = torch.from_numpy(images[rows]).to(self.device)
            own = self._lengths[:, : regions.shape[1]].index_select(0, index)
            found = cosines(regions, words, self._smooth, own).cpu().numpy()
            out[rows, : min(found.shape[1], self.width)] = found[:, : self.width]

        self._each(captions, images, work)
        return out

    def similarity(self, captions: Sequence[str], images: npt.NDArray[np.intp]) -> Floats:
        """SCAN's own similarity of each caption with its image, both ways: float64 [n, 2].

        The mean cosine of regions that attend to words (image → text), and of words that attend to
        regions (text → image).
        """
        out = np.empty((len(captions), 2))

        def work(rows: npt.NDArray[np.intp], regions: torch.Tensor, words: torch.Tensor) -> None:
            for column, pair in enumerate(((regions, words), (words, regions))):
                found = cosines(*pair, self._smooth).sum(dim=1).cpu().numpy()
                n = self.n_regions[images[rows]] if column == 0 else words.shape[1]
                out[rows, column] = found / n

        self._each(captions, images, work)
        return out

    def _each(
        self,
        captions: Sequence[str],
        images: npt.NDArray[np.intp],
        work: Callable[[npt.NDArray[np.intp], torch.Tensor, torch.Tensor], None],
    ) -> None:
        """Call `work(rows, regions [k, r, d], words [k, w, d])`, float64, for all captions."""
        ids = self._vocabulary.encode_all(captions)
        by_length: dict[int, list[int]] = defaultdict(list)
        for row, own in enumerate(ids):
            by_length[len(own)].append(row)
        level = -(-np.maximum(self.n_regions, 1) // _STEP) * _STEP
        with torch.inference_mode():
            for length, rows in sorted(by_length.items()):
                distinct: dict[tuple[int, ...], int] = {}
                place = np.array([distinct.setdefault(tuple(ids[k]), len(distinct)) for k in rows])
                states = self._encoded_words(list(distinct), length).double()
                mine = np.array(rows, dtype=np.intp)
                own_level = level[images[mine]]
                for most in np.unique(own_level).tolist():
                    here = np.flatnonzero(own_level == most)
                    size = max(1, _NUMBERS[self.device.type] // (most * states.shape[2]))
                    for start in range(0, len(here), size):
                        some = here[start : start + size]
                        index = torch.from_numpy(images[mine[some]]).to(self.device)
                        regions = self._vectors[:, :most].index_select(0, index)
                        words = states.index_select(0, torch.from_numpy(place[some]).to(index))
                        work(mine[some], regions.double(), words)

    def _encoded_words(self, ids: Sequence[tuple[int, ...]], length: int) -> torch.Tensor:
        """[n, length, d] The word states of captions of one length."""
        size = max(1, _TOKENS[self.device.type] // length)
        found = []
        for start in range(0, len(ids), size):
            some = list(ids[start : start + size])
            batch = torch.tensor(some + some[:1] * (size - len(some)), device=self.device)
            found.append(self._model.text(batch)[: len(some)])
        return torch.cat(found)

    def _encoded_regions(self, regions: Regions) -> torch.Tensor:
        """[n, r, d] The region vectors, r a multiple of `_STEP`; zeros where there is none."""
        features, _, mask = regions.tensors(self.device)
        whole = features[:, :1].expand_as(features)[mask]
        own = features[mask]
        found = []
        with torch.inference_mode():
            for start in range(0, len(own), _REGIONS):
                some = own[start : start + _REGIONS], whole[start : start + _REGIONS]
                lacking = _REGIONS - len(some[0])
                full = (torch.nn.functional.pad(each, (0, 0, 0, lacking)) for each in some)
                found.append(self._model.image.rows(*full)[: len(some[0])])
            width = self.width + -self.width % _STEP
            out = own.new_zeros(len(mask), width, self._model.shape.embed)
            out[:, : self.width][mask] = torch.cat(found) if found else out[0, :0]
        return out
