"""MNIST addition: two handwritten digits, with their sum as the only label."""
