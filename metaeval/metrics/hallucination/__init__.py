"""CHAIR: objects that a caption mentions and the image does not have."""
