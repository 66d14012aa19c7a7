"""Describes each op: shapes, reference, error scale, lowering, gradient. rules.py has the table of the ops of the IR,
primitives.py that of the built-in ops."""
