#!/usr/bin/env bash
# Prints the files of ours with names that match one of the patterns, a line each: those that git knows, or where there is no git all but what was built.
#   scripts/sources.sh PATTERN...   such as '*.cc'
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$PWD" ]; then git ls-files -- "$@"
else
  for pattern in "$@"; do find . -name "$pattern" -not -path './build/*' -not -path './.*/*' | sort | sed 's,^\./,,'; done
fi
