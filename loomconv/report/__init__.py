"""Findings, the closed vocabulary of their codes, and the report of one conversion."""

from loomconv.report.codes import CODES, Code, Severity
from loomconv.report.failures import add_failure
from loomconv.report.findings import Finding, Report

__all__ = ["CODES", "Code", "Finding", "Report", "Severity", "add_failure"]
