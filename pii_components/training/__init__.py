"""Learn the components, distil and average what was learned, and write the package that ships."""
