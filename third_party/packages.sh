# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Debian 12 packages by purpose, and how they get installed. Sourced by the scripts that build.

# shellcheck disable=SC2034
{
  build_packages=(g++ cmake ninja-build git xz-utils prometheus-cpp-dev libdeflate-dev libssl-dev libcli11-dev
    libyaml-dev libcrypt-dev libseccomp-dev libcap-dev clang libbpf-dev libncurses-dev libcurl4-openssl-dev
    libarchive-dev libzstd-dev)
  run_packages=(pci.ids)
  package_packages=(python3 file dpkg-dev gzip)
  test_packages=(ccache mold clang-format doctest-dev nlohmann-json3-dev zlib1g-dev python3 python3-jsonschema python3-prometheus-client prometheus
    prometheus-alertmanager prometheus-node-exporter curl jq zstd strace procps util-linux libcap2-bin openssl systemd gzip libze1
    libze-dev libdw1 tmux abigail-tools chromium chromium-driver
    # For deploy/integrations: YAML, Home Assistant's templates, vmagent, and the interpreter of Zabbix's scripts.
    python3-yaml python3-jinja2 victoria-metrics duktape
    # For --push.mqtt.
    mosquitto mosquitto-clients)
  packaging_packages=(rpm lintian man-db zsh fish mmdebstrap python3 buildah golang-github-containers-common crun runc
    golang-go golang-github-masterminds-sprig-dev golang-k8s-sigs-yaml-dev python3-yaml python3-jsonschema
    docker-compose pkg-config libglib2.0-dev libgstreamer1.0-dev gstreamer1.0-tools docker-registry skopeo apt-utils createrepo-c dnf gnupg
    makepkg pacman-package-manager libarchive-tools nix-bin devscripts)
  # Only where another source has not brought them: newer ones do, too.
  for program in kubectl:kubernetes-client npm:npm; do
    command -v "${program%:*}" >/dev/null || packaging_packages+=("${program#*:}")
  done
  windows_packages=(g++-mingw-w64-x86-64-posix libz-mingw-w64-dev make perl wine wine64 wixl msitools zip)
  release_packages=(debhelper)
  arm64_packages=(g++-aarch64-linux-gnu mmdebstrap uidmap qemu-user-static)
  clang_packages=(clang libclang-rt-14-dev)
  tidy_packages=(clang-tidy)
}

say() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; }

as_root() {
  if [[ $(id -u) == 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    say "this needs root, or sudo: $*"
    return 1
  fi
}

apt_install() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends -o DPkg::Lock::Timeout=300 install "$@" >&2
}

# install_packages NAME...: those that are missing; without any, it asks for nothing and changes nothing.
install_packages() {
  local missing=() package guard=/usr/sbin/policy-rc.d guarded=0 status=0
  for package in "$@"; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
  done
  [[ ${#missing[@]} -gt 0 ]] || return 0
  say "installing ${missing[*]}"
  # Some come with a service (prometheus): the tests start their own, this machine's must not start.
  if [[ ! -e $guard ]]; then
    printf '#!/bin/sh\nexit 101\n' | as_root tee "$guard" >/dev/null && as_root chmod 755 "$guard" && guarded=1
  fi
  if ! apt_install "${missing[@]}" 2>/dev/null; then
    as_root apt-get -qq -o DPkg::Lock::Timeout=300 update >&2 && apt_install "${missing[@]}" || status=1
  fi
  [[ $guarded == 0 ]] || as_root rm -f "$guard"
  [[ $status == 0 ]] || say "could not install: ${missing[*]}"
  return $status
}

# configure PRESET [OPTION...]: runs CMake unless it has run with these options and the presets have not changed since; other changes
# CMake notices itself. An option stays as it was set last.
configure() {
  local done=build/$1/configured unity=-DIGPU_UNITY=ON option missing=()
  [[ $1 != debug && $1 != tidy ]] || unity=-DIGPU_UNITY=OFF  # for editing and checking single files
  [[ $done -nt CMakePresets.json ]] || rm -f "$done"
  for option in "$unity" "${@:2}"; do
    [[ $(grep -s -e "^${option%%=*}=" "$done" | tail -n 1) == "$option" ]] || missing+=("$option")
  done
  [[ ${#missing[@]} -gt 0 ]] || return 0
  cmake --preset "$1" "${missing[@]}" >&2 || return
  printf '%s\n' "${missing[@]}" >>"$done"
}

# build PRESET [ARGUMENT OF cmake --build]...: builds, and records its CPU seconds for tests/tools/ci_costs.
build() {
  local status=0 seconds=build/$1/cpu_seconds TIMEFORMAT='%U %S'
  { time cmake --build --preset "$@" >&3 2>&3; } 3>&2 2>>"$seconds" || status=$?
  return $status
}
