"""Figures computed from frames of records: pure functions, each result an `Estimate` with interval, n and method."""
