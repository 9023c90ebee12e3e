"""metaeval's BLEU, CIDEr and SPIDEr for other libraries.

`metaeval.adapters.torchmetrics` and `metaeval.adapters.evaluate` have them as classes of those
libraries, which must be installed. (The other way round, their metrics in metaeval, is
`metaeval/metrics/adapters`.)
"""
