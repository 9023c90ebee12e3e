"""The drawings: people, things, and the place behind them."""
