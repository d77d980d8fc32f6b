"""Pictures, tables and pages of trained runs."""

from smtlayer_studies.reports.curves import draw_curves as draw_curves
from smtlayer_studies.reports.run_pictures import draw_examples as draw_examples
from smtlayer_studies.reports.run_pictures import draw_run as draw_run
