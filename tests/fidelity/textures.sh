#!/usr/bin/env bash
# Compares the bits that textures and surfaces give on a GPU with those of the emulator.
#   tests/fidelity/textures.sh pack BUILD FOLDER   needs nvcc, and the programs of BUILD; runs the emulator
#   FOLDER/textures.sh run                         on a host with a driver and nothing else: compares
# The last line counts cases. Cases that differ are listed with the number of words that do, the greatest
# distance in units in the last place, and the first difference; FOLDER/gpu.txt has what the GPU gave.
set -uo pipefail

pack() { # BUILD FOLDER
  local build=$1 folder=$2 here
  here=$(cd "$(dirname "$0")" && pwd)
  mkdir -p "$folder" || return 3
  "${NVCC:-nvcc}" -std=c++17 -O2 -gencode arch=compute_80,code=compute_80 -gencode arch=compute_90,code=sm_90 \
    -o "$folder/textures" "$here/textures.cu" || return 3
  "$build/bin/gpuemu" nvcc -std=c++17 -O2 -o "$folder/emulated" "$here/textures.cu" || return 3
  # Reads of places that nothing wrote and races are no concern here.
  "$build/bin/gpuemu" run --arch sm_90 --checks -init,-race,-stream,-api --error-exitcode 0 --output "$folder/report.txt" -- \
    "$folder/emulated" | gzip >"$folder/emulator.txt.gz" || { cat "$folder/report.txt" >&2; return 3; }
  rm -f "$folder/emulated"
  cp "$0" "$folder/textures.sh"
}

# Reads two lists of `case index words...`.
compare() { # EMULATOR GPU
  awk '
    function bits(hex,   i, value) {
      value = 0
      for (i = 1; i <= length(hex); ++i) value = value * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1
      return value >= 2147483648 ? 2147483648 - value : value
    }
    function distance(a, b,   d) { d = bits(a) - bits(b); return d < 0 ? -d : d }
    NR == FNR { emulated[$1 " " $2] = $0; next }
    {
      if (!($1 in words)) order[++count] = $1
      if (!(($1 " " $2) in emulated)) { bad[$1]++; words[$1]++; if (!($1 in first)) first[$1] = "the emulator has no line " $1 " " $2; next }
      split(emulated[$1 " " $2], of)
      for (i = 3; i <= NF; ++i) {
        words[$1]++
        if ($i == of[i]) continue
        bad[$1]++
        d = distance($i, of[i])
        if (d > most[$1]) most[$1] = d
        if (!($1 in first)) first[$1] = "point " $2 " word " (i - 3) ": GPU " $i " emulator " of[i]
      }
    }
    END {
      for (i = 1; i <= count; ++i) {
        if (bad[order[i]] == 0) { ++equal; continue }
        printf "differs: %s: %d of %d words, up to %d ulp; %s\n", order[i], bad[order[i]], words[order[i]], most[order[i]], first[order[i]]
      }
      printf "textures: %d of %d cases have the same bits\n", equal, count
      exit equal != count
    }' "$1" "$2"
}

case ${1:-} in
  pack) [ $# = 3 ] || { sed -n '2,6s/^# *//p' "$0" >&2; exit 2; }; pack "$2" "$3" ;;
  run) here=$(cd "$(dirname "$0")" && pwd)
    "$here/textures" >"$here/gpu.txt" || { tail -n 3 "$here/gpu.txt" >&2; exit 3; }
    compare <(gzip -dc "$here/emulator.txt.gz") "$here/gpu.txt" ;;
  *) sed -n '2,6s/^# *//p' "$0" >&2; exit 2 ;;
esac
