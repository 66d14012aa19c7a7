#!/usr/bin/env bash
# Takes the first steps of a new user: on a Debian 12 without gpuemu and without a CUDA toolkit (debootstrap), runs scripts/run.sh and
# scripts/test.sh on the files of HEAD without their history. Needs root, debootstrap and the package registries; 6 GB below TMPDIR.
#   tests/soak/bare_machine.sh [command in the sources = "scripts/run.sh && scripts/test.sh"]
set -euo pipefail
cd "$(dirname "$0")/../.."
command=${1:-"scripts/run.sh && scripts/test.sh"}
if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
  echo "bare_machine: needs root and debootstrap (apt-get install debootstrap): not run"
  exit 77
fi
bare=$(mktemp -d "${TMPDIR:-/var/tmp}/gpuemu-bare.XXXXXX")
trap 'rm -rf --one-file-system "$bare"' EXIT
echo "bare_machine: Debian 12 into $bare"
debootstrap --variant=minbase --include=ca-certificates,git bookworm "$bare" http://deb.debian.org/debian >"$bare.log" 2>&1 ||
  { tail -n 5 "$bare.log"; echo "bare_machine: debootstrap did not work"; exit 1; }
rm -f "$bare.log"
# How this host reaches the registries, which is not part of gpuemu.
cp -n /etc/apt/apt.conf.d/* "$bare/etc/apt/apt.conf.d/" 2>/dev/null || true
for file in etc/ssl/certs/ca-certificates.crt etc/resolv.conf etc/hosts; do
  [ ! -e "/$file" ] || cp "/$file" "$bare/$file"
done
mkdir "$bare/root/gpuemu"
git archive HEAD | tar -x -C "$bare/root/gpuemu"
# Mounts in a namespace of their own end with it.
unshare --mount bash -c '
  for folder in proc dev sys; do mount --rbind "/$folder" "$1/$folder"; done
  mount -t tmpfs tmpfs "$1/tmp"
  exec chroot "$1" env -i HOME=/root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt PIP_CERT=/etc/ssl/certs/ca-certificates.crt \
    bash -c "cd /root/gpuemu && $2" </dev/null
' bash "$bare" "$command"
echo "bare_machine: $command worked on a bare Debian 12"
