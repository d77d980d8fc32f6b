"""Exceptions of the playground, each with its HTTP status."""


class PlaygroundError(Exception):
    """A request is invalid; the message is shown to the user."""

    status = 400


class TooBigError(PlaygroundError):
    """A request, or a part of it, is too large."""

    status = 413


class TooHardError(PlaygroundError):
    """A request takes too much time or memory."""

    status = 422


class BusyError(PlaygroundError):
    """There are too many requests at the same time."""

    status = 503
