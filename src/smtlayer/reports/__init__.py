"""What people look at: pictures of trained models at work."""

from smtlayer.reports.examples import draw_examples as draw_examples
