#!/usr/bin/env bash
# Prints the files of ours with one of the endings, a line each: those that git knows, or where there is no git all but what was built.
#   scripts/sources.sh ENDING...
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$PWD" ]; then git ls-files -- "${@/#/*.}"
else
  for ending in "$@"; do find . -name "*.$ending" -not -path './build/*' -not -path './.*/*' | sort | sed 's,^\./,,'; done
fi
