"""LearnToEval (Cui et al., 2018): a network that tells human captions from others."""
