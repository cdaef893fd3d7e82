"""Realistic surrogates: one generator module per label, person linking, keys.

The component is `hips_surrogate` in component.py. Nothing here imports a name data set when it is imported.
"""
