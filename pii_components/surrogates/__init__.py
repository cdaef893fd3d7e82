"""Realistic surrogates: one generator module per label, person linking, keys.

The component is `hips_surrogate` in hips.py. Nothing here imports Faker or a name data set when it is imported.
"""
