"""Engines: what turns a request into a completion, and the cache in front of them."""
