# Sourced. Each bundle lists its own files, so that replacing a bundle removes these and nothing else.
# shellcheck shell=bash
bundle_marker=.gpuemu-bundle

takes_bundle() { # FOLDER: whether it does not exist, is empty, or contains a bundle
  [ ! -e "$1" ] || [ -f "$1/$bundle_marker" ] || { [ -d "$1" ] && [ -z "$(ls -A "$1")" ]; }
}
remove_bundle() { # FOLDER: removes the files of the bundle in it, and the folders that are then empty
  [ -f "$1/$bundle_marker" ] || return 0
  local file
  while IFS= read -r file; do
    case /$file/ in */../*|//*) echo "bundle: $1/$bundle_marker names '$file', which is not in its folder" >&2; return 1 ;; esac
    rm -f -- "$1/$file"
    (cd "$1" && rmdir -p --ignore-fail-on-non-empty -- "$(dirname "$file")" 2>/dev/null) || true
  done <"$1/$bundle_marker"
  rm -f -- "$1/$bundle_marker"
}
mark_bundle() { # FOLDER MANIFEST: the manifest has the absolute path of each installed file
  sed -n "s|^$(sed 's/[][\\.*^$|]/\\&/g' <<<"$1")/||p" "$2" >"$1/$bundle_marker.new" && mv "$1/$bundle_marker.new" "$1/$bundle_marker"
}
