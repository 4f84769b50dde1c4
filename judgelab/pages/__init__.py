"""Pages that answers rest on: fetched politely, turned into text, cut into chunks and ranked for a question.

Invariant: a page that cannot be used has a reason, and what was fetched once is not fetched again.
"""
