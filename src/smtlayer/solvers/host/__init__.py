"""Solvers that answer on the host, row by row."""
