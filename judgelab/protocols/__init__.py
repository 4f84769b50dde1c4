"""What is asked of a judge and in which order: one module a protocol, its prompts and parsing beside it."""
