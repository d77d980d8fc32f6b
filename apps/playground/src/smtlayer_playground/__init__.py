"""A local web page to try the layer on."""
