"""A project to train on one's own essays, and the package that ships."""
