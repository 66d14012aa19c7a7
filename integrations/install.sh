#!/usr/bin/env bash
# Installs a pinned release of gpuemu into a folder; fails if anything about it cannot be verified.
#   GPUEMU_VERSION=1.0.0 GPUEMU_SHA256=... GPUEMU_URL=https://.../releases/download install.sh FOLDER
# A folder that already contains exactly this release is not changed.
set -euo pipefail
say() { echo "install gpuemu: $*" >&2; }
for name in GPUEMU_VERSION GPUEMU_SHA256 GPUEMU_URL; do
  [ -n "${!name:-}" ] || { say "$name is not set; pin a release"; exit 2; }
done
[ $# = 1 ] || { say "name the folder to install to"; exit 2; }
[[ $GPUEMU_VERSION =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || { say "GPUEMU_VERSION '$GPUEMU_VERSION' is no version; write 1.0.0"; exit 2; }
[[ $GPUEMU_SHA256 =~ ^[0-9a-f]{64}$ ]] || { say "GPUEMU_SHA256 is no SHA-256; take it from SHA256SUMS of the release"; exit 2; }
pin=$1/.gpuemu-sha256
[ "$(cat "$pin" 2>/dev/null)" != "$GPUEMU_SHA256" ] || { say "gpuemu v$GPUEMU_VERSION is in $1 already"; exit 0; }
[ ! -e "$1" ] || { say "$1 is there already and is not what is pinned"; exit 2; }

file=gpuemu-$GPUEMU_VERSION-Linux.tar.gz
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# --proto prevents redirects to unencrypted addresses; file is for mirrors that are folders.
curl --fail --silent --show-error --location --proto '=https,file' --retry 3 --max-time 600 \
  --output "$scratch/$file" "$GPUEMU_URL/v$GPUEMU_VERSION/$file" || { say "cannot fetch $GPUEMU_URL/v$GPUEMU_VERSION/$file"; exit 3; }
echo "$GPUEMU_SHA256  $scratch/$file" | sha256sum --check --status ||
  { say "$file is not what was pinned: $(sha256sum <"$scratch/$file" | cut -c1-64)"; exit 3; }
mkdir -p "$scratch/unpacked"
tar -xzf "$scratch/$file" -C "$scratch/unpacked" --strip-components=1 --no-same-owner
said=$("$scratch/unpacked/bin/gpuemu" --version) || { say "the program does not run here"; exit 3; }
[ "$said" = "gpuemu v$GPUEMU_VERSION" ] || { say "the program says '$said'"; exit 3; }
echo "$GPUEMU_SHA256" >"$scratch/unpacked/.gpuemu-sha256"
mkdir -p "$(dirname "$1")"
mv "$scratch/unpacked" "$1"
say "$said in $1"
