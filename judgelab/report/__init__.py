"""Figures as tables, drawings and one page that holds everything; nothing here computes a figure."""
