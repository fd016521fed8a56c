"""A report about a plan: findings in, a page out. One file per section."""

from penstock.report.plan_report.document import plan_report_page
from penstock.report.plan_report.facts import PlanReport, Rival

__all__ = ["PlanReport", "Rival", "plan_report_page"]
