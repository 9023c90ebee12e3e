"""CHAIR: objects that a caption speaks of and the image does not have."""
