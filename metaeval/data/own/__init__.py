"""What users bring: captions, tables, scores computed elsewhere, lists from Python."""
