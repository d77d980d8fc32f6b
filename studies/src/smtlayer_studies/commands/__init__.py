"""Commands that train, score and show the studies."""
