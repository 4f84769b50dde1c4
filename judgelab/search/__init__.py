"""Where evidence comes from: engines of the web or of one's own texts, recorded and replayed.

Invariant: a search that failed is told from one that found nothing, and neither ever looks like evidence.
"""
