"""The page: one HTML file that shows a set, what was kept of it and which labels look wrong."""

from dualprune.report.page.page import write_report

__all__ = ["write_report"]
