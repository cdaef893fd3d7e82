"""What a steward does with a corpus: de-identify it from end to end, and look over what came out."""

# What two settings of a run may be, which those ask for who do not import what follows them.
ENGINES = LOCAL, RAY, SPARK = ("local", "ray", "spark")
NAMINGS = KEEP_IDS, PSEUDONYM = ("keep", "pseudonym")
