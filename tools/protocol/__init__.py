"""Parts of tools/make_protocol.py."""
