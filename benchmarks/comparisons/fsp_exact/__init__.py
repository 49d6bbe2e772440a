"""Time of the proof of exact feature selection."""
