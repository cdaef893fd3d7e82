"""Candidates by a trained model: the component, its layers and its loss, and the encoder without torch."""
