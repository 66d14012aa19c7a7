"""Passes rewrite graphs; apply.py lists them."""
