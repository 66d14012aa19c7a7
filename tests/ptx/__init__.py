"""A package, so that this conftest and that of tests/e2e do not have one name."""
