#!/usr/bin/env bash
# Prints our files with names that match one of the patterns, one per line: tracked files, or without git all files that were not built.
#   scripts/sources.sh PATTERN...   such as '*.cc'
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$PWD" ]; then git ls-files -- "$@"
else
  for pattern in "$@"; do find . -name "$pattern" -not -path './build/*' -not -path './.*/*' | sort | sed 's,^\./,,'; done
fi
