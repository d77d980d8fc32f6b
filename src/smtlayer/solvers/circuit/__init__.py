"""The backend `Circuit`, which answers from a decision diagram of a theory."""
