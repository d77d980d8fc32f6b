"""What people look at: pictures of trained models at work, and of what questions cost."""

from smtlayer.reports.examples import draw_examples as draw_examples
from smtlayer.reports.scaling import draw_scaling as draw_scaling
