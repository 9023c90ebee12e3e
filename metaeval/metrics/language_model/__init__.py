"""A recurrent language model of captions: the LM of VIFIDEL's tables, and SLOR."""
