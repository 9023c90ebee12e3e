"""Our GRU over packed sequences against torch's, in scoring and in training.

    python -m benchmarks.networks.gru

reads captions of 4 to 20 words by a bidirectional GRU of FAIEr's size (128 → 128), forward alone
and with the backward pass, by `metaeval.compute.gru` and by `torch.nn.GRU` over a packed sequence.
The states must agree to 1e-5. Prints processor time, which other work on the machine disturbs
least, and the ratio; `compute/gru.py` is to stay only if it gains 1.5 times on a whole run.
"""

from __future__ import annotations

import platform
from collections.abc import Callable

import torch

from benchmarks.side_by_side import timed
from metaeval.compute import gru
from metaeval.compute.gru import Packing

N, LONGEST, WIDTH, REPEATS = 256, 20, 128, 20


def ours(network: torch.nn.GRU, vectors: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    packing = Packing.of(lengths)
    read = gru.run_both_ways(network, vectors[packing.row, packing.step], packing)
    states = torch.cat([read.forward, read.backward], dim=1)
    out = states.new_zeros(*vectors.shape[:2], states.shape[1])
    return out.index_put((packing.row, packing.step), states)


def torchs(network: torch.nn.GRU, vectors: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    packed = torch.nn.utils.rnn.pack_padded_sequence(
        vectors, lengths, batch_first=True, enforce_sorted=False
    )
    states, _ = torch.nn.utils.rnn.pad_packed_sequence(
        network(packed)[0], batch_first=True, total_length=vectors.shape[1]
    )
    return states


def main() -> None:
    torch.manual_seed(0)
    network = torch.nn.GRU(WIDTH, WIDTH, batch_first=True, bidirectional=True)
    vectors = torch.randn(N, LONGEST, WIDTH)
    lengths = torch.randint(4, LONGEST + 1, (N,))
    torch.testing.assert_close(
        ours(network, vectors, lengths), torchs(network, vectors, lengths), rtol=0, atol=1e-5
    )

    def score(read: Callable[..., torch.Tensor]) -> None:
        with torch.inference_mode():
            for _ in range(REPEATS):
                read(network, vectors, lengths)

    def train(read: Callable[..., torch.Tensor]) -> None:
        for _ in range(REPEATS):
            network.zero_grad()
            read(network, vectors, lengths).square().sum().backward()

    print(f"{platform.processor() or platform.machine()}, torch {torch.__version__}")
    for what, work in (("scoring", score), ("training", train)):
        work(ours), work(torchs)  # once beforehand: kernels are chosen
        seconds = [timed(lambda w=work, r=read: w(r))[1].processor for read in (ours, torchs)]
        print(
            f"{what}, {N * REPEATS:,} captions: ours {seconds[0]:.2f} s, torch {seconds[1]:.2f} s, "
            f"{seconds[1] / seconds[0]:.2f} ×"
        )


if __name__ == "__main__":
    main()
