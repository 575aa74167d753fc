"""The page: one HTML file that shows a dataset, what was kept of it and its suspect labels."""

from dualprune.report.page.page import write_report

__all__ = ["write_report"]
