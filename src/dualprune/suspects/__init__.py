"""Labels that are probably wrong: which, how many, and a sheet to correct them on."""

from dualprune.suspects.judgement import Judgement, judge, judge_if_possible, usual_rival
from dualprune.suspects.review import corrected, write_review
from dualprune.suspects.sheet import read_sheet, write_sheet
from dualprune.suspects.table import Audit, audit

__all__ = [
    "Audit",
    "Judgement",
    "audit",
    "corrected",
    "judge",
    "judge_if_possible",
    "read_sheet",
    "usual_rival",
    "write_review",
    "write_sheet",
]
