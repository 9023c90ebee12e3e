"""How many captions a second the language model reads, against a plain loop over transformers.

    METAEVAL_DATA=… python -m research.models.language_model [--captions N] [--threads N]

Human captions of COCO val2017 under SmolLM2. The loop calls the same network with one caption after
the other and `labels`; ln p of both is compared. Prints a line: captions a second by the clock and
by processor time, which other work on the machine disturbs least, and the memory at its highest.
"""

import argparse
import resource
import sys
import time

import numpy as np
import torch

from benchmarks.speed import timed
from metaeval.data.coco.load import load_coco
from metaeval.data.dataset import Absent
from metaeval.metrics.language_model.causal import SMOLLM2, CausalModel, locate_causal_model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--captions", type=int, default=300)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    located = locate_causal_model(SMOLLM2)
    if isinstance(located, Absent):
        sys.exit(str(located))
    start = time.perf_counter()
    model = CausalModel(located, options.device)
    loading = time.perf_counter() - start
    captions = load_coco("coco_val2017", "val2017").human[: options.captions]
    ids = model.tokenize(captions)
    model.log_probabilities(ids[:4])

    def loop() -> list[float]:
        logs = []
        for tokens in ids:
            line = torch.tensor([[model.start, *tokens]]).to(model.device)
            with torch.inference_mode():
                logs.append(-float(model.network(input_ids=line, labels=line).loss) * len(tokens))
        return logs

    ours, spent = timed(lambda: model.log_probabilities(ids))
    plain, of_loop = timed(loop)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{len(ids)} captions, {sum(map(len, ids)) / len(ids):.1f} tokens each, on {model.device} "
        f"with {options.threads} threads: {len(ids) / spent.clock:.1f} a second, the loop "
        f"{len(ids) / of_loop.clock:.1f}, ratio {of_loop.clock / spent.clock:.1f}; of processor "
        f"time {len(ids) / spent.processor:.1f} and {len(ids) / of_loop.processor:.1f}, ratio "
        f"{of_loop.processor / spent.processor:.1f}; greatest difference of ln p "
        f"{np.abs(ours - plain).max():.1e}; loaded in {loading:.0f} s; {memory:.1f} GiB"
    )


if __name__ == "__main__":
    main()
