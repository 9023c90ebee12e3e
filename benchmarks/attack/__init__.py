"""What docs/attack.md says of defences."""
