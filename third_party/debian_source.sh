# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Archives of Debian's source packages, for fetch-civetweb and fetch-windows-libraries.
#
# They come from the Debian mirror this machine already uses: apt's own configuration is read, turned into a source list of its
# own (deb-src) and used from a temporary folder, so that no file of the system changes and no root is needed.

# debian_sources FOLDER: a folder of apt's own, filled with the list of source packages.
debian_sources() {
  local work=$1 list
  command -v apt-get >/dev/null || { echo "apt-get is not here, so Debian's source packages cannot be fetched." >&2; return 1; }
  mkdir -p "$work"/{sources,lists/partial,archives/partial}
  # apt's whole configuration (mirror proxies, credentials), except hooks that would change the system.
  apt-config dump | grep -vE '^(APT::Update::P(re|ost)-Invoke|DPkg::|Binary|CommandLine)' >"$work/apt.conf"
  cat >>"$work/apt.conf" <<END
Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
Dir::Etc::sourcelist "$work/sources.list";
Dir::Etc::sourceparts "$work/sources";
Dir::State::lists "$work/lists";
Dir::Cache "$work";
Dir::Cache::archives "$work/archives";
APT::Sandbox::User "";
Acquire::Languages "none";
END
  touch "$work/sources.list"
  for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [[ -r $list ]] && sed -nE 's/^[[:space:]]*deb([[:space:]])/deb-src\1/p' "$list" >>"$work/sources.list"
  done
  for list in /etc/apt/sources.list.d/*.sources; do
    [[ -r $list ]] && sed -E 's/^Types:.*/Types: deb-src/I' "$list" >"$work/sources/$(basename "$list")"
  done
  # Another repository without sources makes the update report an error; only the packages must be found.
  APT_CONFIG=$work/apt.conf apt-get -qq update >"$work/log" 2>&1 || true
}

# debian_archive FOLDER PACKAGE VERSION-REVISION ARCHIVE SHA256: ARCHIVE in FOLDER, which debian_sources made.
debian_archive() {
  local work=$1 package=$2 version=$3 archive=$4 sha256=$5
  (
    cd "$work" || exit
    export APT_CONFIG=$work/apt.conf
    if ! apt-get -qq source --download-only --tar-only "$package=$version" >>log 2>&1; then
      # A later Debian revision of the same upstream archive is accepted: the checksum decides.
      apt-get -qq source --download-only --tar-only "$package" >>log 2>&1 || {
        cat log >&2
        echo "the source package $package $version could not be fetched." >&2
        exit 1
      }
    fi
    [[ -f $archive ]] || { echo "the mirror has another version of $package than $version: pin its version and SHA-256." >&2; exit 1; }
    echo "$sha256  $archive" | sha256sum --check --quiet >&2 || { echo "$archive does not have the pinned SHA-256." >&2; exit 1; }
  )
}
