"""Search for captions that a metric scores high: black box, without gradients."""
