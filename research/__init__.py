"""What made the data and weights that metaeval ships, and finished studies; not in the wheel."""
