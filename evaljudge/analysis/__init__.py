"""From verdicts to findings: scores, statistics, calibration, thresholds, costs, selection."""
