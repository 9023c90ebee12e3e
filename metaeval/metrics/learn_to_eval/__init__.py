"""LearnToEval (Cui et al., 2018): a network that distinguishes human captions from others."""
