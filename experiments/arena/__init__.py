"""Battles between captions, and between those who wrote them."""
