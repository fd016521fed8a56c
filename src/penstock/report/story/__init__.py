"""A report about a plan: findings in, a page out. One file per section."""

from penstock.report.story.build import build
from penstock.report.story.findings import Findings, Rival

__all__ = ["Findings", "Rival", "build"]
