"""Learn the components, and write the package that ships."""
