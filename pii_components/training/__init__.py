"""Where training of the components starts, and the package that ships."""
