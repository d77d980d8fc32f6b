"""Worked problems, one package each: theory, data, network and view."""
