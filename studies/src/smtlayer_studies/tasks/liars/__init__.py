"""The liar's puzzle: three people accuse or defend each other, and one of them is guilty."""
