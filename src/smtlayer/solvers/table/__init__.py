"""The backend `Table`, which answers from the list of all models of a theory."""
