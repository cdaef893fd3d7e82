"""What a steward does with a corpus: de-identify it from end to end, and look over what came out."""
