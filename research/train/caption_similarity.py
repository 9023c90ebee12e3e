"""How much a caption says of what an image's own captions say: how wrong a wrong pair is.

Another image's caption may fit this one, too: two men on surfboards are on many photos. A margin
that requires the same distance for every wrong pair teaches that such a caption does not fit. With
the similarity of captions it requires less where less is wrong (semantic adaptive margins, Biten et
al., WACV 2022, who measure similarity by CIDEr or SPICE; here by word vectors, which know of
synonyms).
"""

import numpy as np
import numpy.typing as npt
import torch

from metaeval.runs.store import Store
from metaeval.text.vocabulary import SPECIAL, Vocabulary
from metaeval.text.word_vectors.base import WordVectors
from research.train.dataset import EncodedCaptions, Ints

# a vector of at most this length is a rounding error of zero and has no direction (unlike
# `metaeval.text.word_vectors.base.unit`, which is for vectors as they are read)
_ROUNDING = 1e-12


class CaptionSimilarity:
    """The similarity of each image with each caption that is learned from.

    A caption is the sum of its words' vectors, each less the mean vector and weighted by the log of
    how rare it is (inverse document frequency over these captions); these, less their own mean, are
    scaled to unit length. An image is the mean of its captions. Similarity is the cosine.

    Attributes
    ----------
    of_image
        int64 [n, most]: which captions are each image's, padded with -1.
    """

    def __init__(
        self,
        captions: EncodedCaptions,
        vectors: WordVectors,
        vocabulary: Vocabulary,
        store: Store | None = None,
    ) -> None:
        embedded = vectors.embed(vocabulary.words[len(SPECIAL) :], store)
        n_words, width = len(vocabulary), embedded.rows.shape[1]
        words = np.zeros((n_words, width))
        if embedded.known.any():
            known = embedded.rows[embedded.known]
            words[len(SPECIAL) :][embedded.known] = known - known.mean(axis=0)
        tokens = captions.tokens.numpy()
        rows = np.repeat(np.arange(len(captions)), tokens.shape[1])
        distinct = np.unique(np.stack([rows, tokens.ravel()]), axis=1)[1]
        n_with = np.bincount(distinct, minlength=n_words)
        words *= np.log((len(captions) + 1) / (n_with + 1))[:, None]
        sums = np.zeros((len(captions), width))
        for step in range(tokens.shape[1]):  # padding and other special words are zero vectors
            sums += words[tokens[:, step]]
        directions = _directions(sums)
        centred = _directions(directions - directions.mean(axis=0))
        images = np.zeros((len(captions.of_image), width))
        np.add.at(images, captions.owner, centred)
        self._owner, self.of_image = captions.owner, captions.of_image
        self._captions = torch.from_numpy(centred).float()
        self._images = torch.from_numpy(_directions(images)).float()

    def of(self, rows: Ints) -> torch.Tensor:
        """[b, b] in [-1, 1]: of the images of these captions (rows) with each of the captions."""
        images = self._images[torch.from_numpy(self._owner[rows])]
        return images @ self._captions[torch.from_numpy(rows)].T

    def margins(self, rows: Ints, widest: float) -> torch.Tensor:
        """The margin of each pair of `of`, [b, b]: `widest` · (1 - similarity)."""
        return widest * (1 - self.of(rows))


def _directions(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Rows scaled to unit length; those without a length stay 0."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    out = np.zeros_like(rows)
    np.divide(rows, length, out=out, where=length > _ROUNDING)
    return out


def start_embedding(
    embedding: torch.nn.Embedding,
    vectors: WordVectors,
    vocabulary: Vocabulary,
    spread: float,
    store: Store | None = None,
) -> int:
    """Set the embedding of every word that has a vector to that vector, reduced to fit.

    The vectors of all known words are centred and reduced to their first principal components
    (with zeros behind where they are fewer than the embedding's numbers), and scaled as a whole, so
    that their numbers have the standard deviation `spread`. Words without a vector and the four
    special ones keep what they have. Returns how many words were set.
    """
    embedded = vectors.embed(vocabulary.words[len(SPECIAL) :], store)
    rows = embedded.rows[embedded.known]
    if not len(rows):
        return 0
    weight = embedding.weight
    centred = rows - rows.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2]
    # an axis may point either way: its largest component decides
    signs = np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])
    reduced = centred @ (axes * signs[:, None])[: weight.shape[1]].T
    if (deviation := reduced.std()) > 0:
        reduced *= spread / deviation
    places = torch.from_numpy(len(SPECIAL) + np.flatnonzero(embedded.known)).to(weight.device)
    with torch.no_grad():
        weight[places] = 0.0
        weight[places, : reduced.shape[1]] = torch.from_numpy(reduced).to(weight)
    return len(rows)
