#!/usr/bin/env bash
# What a user of the packages does: the .deb on a bare Debian 12, the tarball on another, `gpuemu ci`
# on the examples in both. Needs root, debootstrap and Debian's mirror; 2 GB below TMPDIR.
#   tests/soak/package_install.sh [BUILD_FOLDER = build/release]
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:-build/release}
if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
  echo "package_install: needs root and debootstrap (apt-get install debootstrap): not run"
  exit 77
fi
scripts/package.sh --with-nvrtc "$build"
bare=$(mktemp -d "${TMPDIR:-/var/tmp}/gpuemu-package.XXXXXX")
trap 'rm -rf --one-file-system "$bare"' EXIT
echo "package_install: Debian 12 into $bare"
debootstrap --variant=minbase bookworm "$bare/deb" http://deb.debian.org/debian >"$bare/log" 2>&1 ||
  { tail -n 5 "$bare/log"; echo "package_install: debootstrap did not work"; exit 1; }
# How this machine reaches the mirror, which is no part of gpuemu.
cp -n /etc/apt/apt.conf.d/* "$bare/deb/etc/apt/apt.conf.d/" 2>/dev/null || true
for file in etc/resolv.conf etc/hosts; do [ ! -e "/$file" ] || cp "/$file" "$bare/deb/$file"; done
cp -a "$bare/deb" "$bare/tar"
cp "$build"/gpuemu_*_amd64.deb "$bare/deb/root/"
mkdir "$bare/tar/root/anywhere"
tar -xzf "$build"/gpuemu-*-Linux.tar.gz -C "$bare/tar/root/anywhere" --strip-components=1

# Mounts of a namespace of its own end with it.
inside() {
  unshare --mount bash -c '
    for folder in proc dev sys; do mount --rbind "/$folder" "$1/$folder"; done
    mount -t tmpfs tmpfs "$1/tmp"
    exec chroot "$1" env -i HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
      PATH=/root/anywhere/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin bash -euc "$2" </dev/null
  ' bash "$1" "$2"
}
# The examples have three planted faults: exactly these are to be found, and nothing else.
check='
  gpuemu --version
  cp -r "$(dirname "$(dirname "$(readlink -f "$(command -v gpuemu)")")")/share/gpuemu/examples" /root/examples
  cd /root/examples
  gpuemu config check
  set +e; gpuemu ci --quick --report junit=/root/ci.xml >/root/ci.txt; code=$?; set -e
  cat /root/ci.txt
  [ "$code" = 1 ]
  faults=$(sed -n "s/^\\[FAIL\\] \\([a-z_]*\\) (seed.*/\\1/p" /root/ci.txt | sort -u | tr "\\n" " ")
  [ "$faults" = "reduce_missing_sync rowmax_wrong_identity scale_missing_tail_mask " ]
  gpuemu status | grep stopped
  grep -q "<testsuites" /root/ci.xml'
echo "package_install: the .deb"
inside "$bare/deb" "apt-get update -qq; apt-get install -y -qq --no-install-recommends /root/gpuemu_*_amd64.deb >/dev/null; $check"
inside "$bare/deb" "test -e /usr/share/man/man1/gpuemu.1* && bash -n /usr/share/bash-completion/completions/gpuemu && apt-get remove -y -qq gpuemu >/dev/null && ! command -v gpuemu"
echo "package_install: the tarball"
inside "$bare/tar" "apt-get update -qq; apt-get install -y -qq --no-install-recommends python3-numpy >/dev/null; $check"
echo "package_install: both packages ran gpuemu ci on the examples"
