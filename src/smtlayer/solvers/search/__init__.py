"""Unsat cores and MaxSAT by an incremental solver with assumptions."""
