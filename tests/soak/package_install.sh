#!/usr/bin/env bash
# Does what a user of the packages does: installs the .deb on a bare Debian 12 and the tarball on another, runs `gpuemu ci`
# on the examples in both, then the steps of the Dockerfile, of the GitHub action and of the GitLab job, each
# on a Debian of its own. Needs root, debootstrap and Debian's mirror; 3 GB below TMPDIR.
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
# How this host reaches the mirror, which is not part of gpuemu.
cp -n /etc/apt/apt.conf.d/* "$bare/deb/etc/apt/apt.conf.d/" 2>/dev/null || true
for file in etc/resolv.conf etc/hosts; do [ ! -e "/$file" ] || cp "/$file" "$bare/deb/$file"; done
for root in tar docker github gitlab; do cp -a "$bare/deb" "$bare/$root"; done
cp "$build"/gpuemu_*_amd64.deb "$bare/deb/root/"
mkdir "$bare/tar/root/anywhere"
tar -xzf "$build"/gpuemu-*-Linux.tar.gz -C "$bare/tar/root/anywhere" --strip-components=1

# Mounts in a namespace of their own end with it.
inside() {
  unshare --mount bash -c '
    for folder in proc dev sys; do mount --rbind "/$folder" "$1/$folder"; done
    mount -t tmpfs tmpfs "$1/tmp"
    exec chroot "$1" env -i HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
      PATH=/root/anywhere/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin bash -euc "$2" </dev/null
  ' bash "$1" "$2"
}
# The examples have three planted faults: exactly these must be found.
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
echo "package_install: a program on its library"
embedded='cc mlp.c $(pkg-config --cflags --libs gpuemu) -o /root/mlp && /root/mlp --backend emulator --steps 2 &&
  cc loaded.c $(pkg-config --cflags gpuemu) -ldl -o /root/loaded && /root/loaded emulator | grep "^emulator: sm_"'
tools="apt-get install -y -qq --no-install-recommends gcc libc6-dev pkg-config >/dev/null"
inside "$bare/deb" "apt-get install -y -qq --no-install-recommends /root/gpuemu_*_amd64.deb >/dev/null; $tools; cd /usr/lib/gpuemu/share/gpuemu/examples/embed; $embedded; cd /; apt-get remove -y -qq gpuemu >/dev/null"
echo "package_install: the tarball"
inside "$bare/tar" "apt-get update -qq; apt-get install -y -qq --no-install-recommends python3-numpy >/dev/null; $check"
inside "$bare/tar" "$tools; export PKG_CONFIG_PATH=/root/anywhere/lib/pkgconfig GPUEMU_LIBRARY=/root/anywhere/lib/gpuemu/libgpuemu.so.1; cd /root/anywhere/share/gpuemu/examples/embed; $embedded"
echo "package_install: both packages ran gpuemu ci on the examples"

# Uses a folder as the mirror of the release, and the examples as the checkout.
version=$(sed -n 's/.* gpuemu-\(.*\)-Linux.tar.gz$/\1/p' "$build/SHA256SUMS")
sum=$(sed -n 's/ .*-Linux.tar.gz$//p' "$build/SHA256SUMS")
for root in github gitlab; do
  mkdir -p "$bare/$root/mirror/v$version"
  cp "$build/gpuemu-$version-Linux.tar.gz" "$bare/$root/mirror/v$version/"
  cp -r examples "$bare/$root/root/checkout"
done
python=/usr/bin/python3
[ ! -x build/venv/bin/python ] || python=$PWD/build/venv/bin/python
# PATH OF A LIST, MEMBER OF ITS ITEMS: prints the shell programs of a template one after another.
steps_of() {
  "$python" -c '
import sys, yaml
at = yaml.safe_load(open(sys.argv[1]))
for name in sys.argv[2].split("/"): at = at[name]
print("\n".join(one if isinstance(one, str) else one["run"] for one in at if isinstance(one, str) or "run" in one))' "$@"
}
pins="export GPUEMU_VERSION=$version GPUEMU_SHA256=$sum GPUEMU_URL=file:///mirror GPUEMU_ARGUMENTS=--quick"
needs="apt-get update -qq; apt-get install -y -qq --no-install-recommends ca-certificates curl python3-numpy >/dev/null"

echo "package_install: the steps of the Dockerfile"
cp "$build"/gpuemu_*_amd64.deb "$bare/docker/tmp/gpuemu.deb"
grep -q '^COPY gpuemu_\*_amd64.deb /tmp/gpuemu.deb$' packaging/Dockerfile
# Prints the text after RUN, with continuation lines.
sed -n '/^RUN/,/[^\\]$/p' packaging/Dockerfile | sed 's/^RUN //' >"$bare/docker/root/run.sh"
mv "$bare/docker/tmp/gpuemu.deb" "$bare/docker/root/"
inside "$bare/docker" "mv /root/gpuemu.deb /tmp/gpuemu.deb; sh -e /root/run.sh >/dev/null; [ ! -e /tmp/gpuemu.deb ]; [ ! -e /var/lib/apt/lists/lock ]; gpuemu --help | grep -q 'Exit code'; $check"

echo "package_install: the steps of the GitHub action"
mkdir -p "$bare/github/action/github"
cp integrations/install.sh "$bare/github/action/"
steps_of integrations/github/action.yml runs/steps >"$bare/github/root/all.sh"
# Each step is a shell of its own that begins with `set`; lines in GITHUB_PATH apply to later steps.
inside "$bare/github" "$needs; $pins
  export RUNNER_TEMP=/tmp/runner GITHUB_PATH=/tmp/path GITHUB_STEP_SUMMARY=/tmp/summary GITHUB_ACTION_PATH=/action/github GPUEMU_REPORTS=gpuemu-reports
  mkdir -p /tmp/runner; cd /root/checkout; csplit -s -z -f /tmp/step- /root/all.sh '/^set -euo pipefail/' '{*}'
  set +e
  for step in /tmp/step-*; do
    PATH=\$(cat /tmp/path 2>/dev/null):\$PATH bash -e \$step >/root/ci.txt; code=\$?
  done
  set -e
  [ \$code = 1 ]; grep -q 'gpuemu: not ready to merge' /tmp/summary; grep -q reduce_missing_sync gpuemu-reports/junit.xml
  ls gpuemu-reports | tr '\n' ' ' | grep -qx 'comment.md gpuemu.sarif junit.xml report.html '"

echo "package_install: the job of the GitLab template"
{ echo "set -eo pipefail"; steps_of integrations/gitlab/gpuemu.gitlab-ci.yml .gpuemu/before_script; steps_of integrations/gitlab/gpuemu.gitlab-ci.yml .gpuemu/script; } >"$bare/gitlab/root/job.sh"
inside "$bare/gitlab" "$pins GPUEMU_HOME=/opt/gpuemu GPUEMU_DB=/root/checkout/.gpuemu-state/db GPUEMU_SOCKET=/tmp/gpuemu.sock
  cd /root/checkout; set +e; bash /root/job.sh >/root/ci.txt; code=\$?; set -e
  [ \$code = 1 ]; grep -q reduce_missing_sync gpuemu-reports/junit.xml; [ -s gpuemu-reports/report.html ]; [ -d .gpuemu-state/db ]
  # A job that pins no version, or a different one, fails before anything runs.
  GPUEMU_HOME=/opt/other GPUEMU_SHA256=${sum//[0-9]/0} bash /root/job.sh >/dev/null 2>&1 && exit 1
  [ ! -e /opt/other ]"
echo "package_install: Dockerfile, GitHub action and GitLab job did what they say"
