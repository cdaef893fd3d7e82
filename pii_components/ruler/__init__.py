"""Candidates by rule: patterns as data, validators, and how both are put together with the model's; the tokenizer."""
