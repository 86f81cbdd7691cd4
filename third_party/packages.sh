# Debian packages, by purpose. Sourced by deploy/run and tests/run.
build_packages="g++ cmake ninja-build make git ca-certificates dpkg-dev xz-utils patch debian-archive-keyring
  prometheus-cpp-dev libcivetweb-dev libcurl4-openssl-dev zlib1g-dev libssl-dev libcli11-dev"
run_packages="pci.ids"
test_packages="ccache doctest-dev nlohmann-json3-dev clang libclang-rt-14-dev python3 python3-prometheus-client prometheus
  prometheus-node-exporter curl jq strace procps util-linux libcap2-bin openssl systemd gzip"

say() { echo "$(basename "$0"): $*" >&2; }

# install_packages NAME...: those that are missing, and nothing at all when none is.
install_packages() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  say "installing ${missing[*]}"
  local sudo=()
  [ "$(id -u)" = 0 ] || sudo=(sudo)
  local install=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends "${missing[@]}")
  "${install[@]}" >&2 || { "${sudo[@]}" apt-get update -qq >&2 && "${install[@]}" >&2; } ||
    { say "could not install: ${missing[*]}"; return 1; }
}
