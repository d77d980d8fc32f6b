"""What people look at: pictures of trained models at work, and of what questions cost."""

from smtlayer_studies.reports.curves import draw_curves as draw_curves
from smtlayer_studies.reports.runs import draw_examples as draw_examples
from smtlayer_studies.reports.runs import draw_run as draw_run
from smtlayer_studies.reports.scaling import draw_scaling as draw_scaling
