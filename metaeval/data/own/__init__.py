"""Users' data: captions, tables, scores computed elsewhere, lists from Python."""
