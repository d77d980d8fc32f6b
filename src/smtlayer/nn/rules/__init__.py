"""The rules of the layer: how outputs are found, and which inputs are blamed for wrong ones."""
