"""What a steward does with a corpus: de-identify it from end to end, and look over what came out."""

# What settings of a run may be: who asks for them does not import what follows them.
ENGINES = LOCAL, RAY, SPARK = ("local", "ray", "spark")
DEVICES = CPU, CUDA = ("cpu", "cuda")
NAMINGS = KEEP_IDS, PSEUDONYM = ("keep", "pseudonym")
