"""metaeval: which image-captioning metric can you trust, and for what?"""

__version__ = "0.1.0"
