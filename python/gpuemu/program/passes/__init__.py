"""Changes of graphs that keep what they compute: apply.py has the table of them."""
