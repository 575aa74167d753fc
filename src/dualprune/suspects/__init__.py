"""Labels that are probably wrong: which, how many, and a sheet to correct them on."""

from dualprune.suspects.judgement import Judgement, judge, usual_rival
from dualprune.suspects.table import Audit, audit

__all__ = ["Audit", "Judgement", "audit", "judge", "usual_rival"]
