"""Formats counts of things."""


def counted(count: int, noun: str) -> str:
    """Returns "1 case", "2 cases"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def some_fail(failed: int, cases: int) -> str:
    """Returns "1 of 1 case fails", "2 of 3 cases fail"."""
    return f"{failed} of {counted(cases, 'case')} {'fails' if failed == 1 else 'fail'}"
