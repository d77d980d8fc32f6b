"""This file names what can go wrong with a question to the playground, by HTTP status."""


class PlaygroundError(Exception):
    """A question that gets no answer; its text is for the person who asked."""

    status = 400


class TooBigError(PlaygroundError):
    """What was sent is larger than it may be."""

    status = 413


class TooHardError(PlaygroundError):
    """The question took more time or memory than it may."""

    status = 422


class BusyError(PlaygroundError):
    """Too many questions at once."""

    status = 503
