"""What people look at: pictures of trained models at work, and of what questions cost."""

from smtlayer.reports.curves import draw_curves as draw_curves
from smtlayer.reports.runs import draw_examples as draw_examples
from smtlayer.reports.runs import draw_run as draw_run
from smtlayer.reports.scaling import draw_scaling as draw_scaling
