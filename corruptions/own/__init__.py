"""Users' own corruptions: a function, a file of captions, several one after another."""
