"""How many captions a second of processor time each metric scores, on one thread.

    python -m benchmarks.scale.rates [METRIC …]

Human captions of the first 500 images of COCO val2017 and the next image's, 1,000 captions with
four references each; `prepare` is timed apart, the cache is empty. METEOR and SPICE's own parser
work in Java and are left out.
"""

import sys
import time

import numpy as np
import torch

from metaeval.config import add_metric, build, component, compose_config
from metaeval.data.dataset import Absent
from metaeval.runs.store import MemoryStore

METRICS = (
    "bleu sacrebleu rouge_l cider rouge_n chrf ter cider_plain cider_r chair wmd moverscore lm "
    "vifidel vifidel_cider vifidel_lm learn_to_eval aier"
)


def main() -> None:
    torch.set_num_threads(1)
    overrides = ["dataset=coco_val2017", "dataset.limit=500", "device=cpu"]
    config = compose_config([*overrides, "metric.spice.parser=perceptron"])
    dataset = component(config.dataset, "dataset")
    captions = [*dataset.human, *dataset.human]
    index = np.concatenate([np.arange(500), np.roll(np.arange(500), 1)])
    print("| metric | captions/s | first, s |\n|---|---:|---:|")
    for name in sys.argv[1:] or METRICS.split():
        add_metric(config, name)
        scorer = build(name, config).scorer(dataset, MemoryStore())
        if isinstance(scorer, Absent):
            print(f"| {name} | – | {scorer.reason} |")
            continue
        started = time.process_time()
        scorer.prepare()
        prepared = time.process_time()
        scorer.score(captions, index)
        done = time.process_time()
        scorer.close()
        rate = float(f"{len(captions) / (done - prepared):.2g}")
        print(f"| {name} | {rate:,.0f} | {prepared - started:.1f} |")


if __name__ == "__main__":
    main()
