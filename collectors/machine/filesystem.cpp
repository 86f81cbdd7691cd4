// SPDX-License-Identifier: Apache-2.0
#include "machine/filesystem.h"

#include <algorithm>
#include <cerrno>

namespace igpu {

bool errno_means_absent(int error) {
  switch (error) {
    case ENOENT:
    case ENODEV:
    case ENXIO:
    case ENOTDIR:
    case ENODATA:
    case EOPNOTSUPP:
    case ESRCH:
    case ENOTTY:
    case ENOSYS:
    case EACCES:
    case EPERM: return true;
    default: return false;
  }
}

Absent absent_of_errno(int error) {
  return {error == EACCES || error == EPERM ? Reason::permission : Reason::kernel, error};
}

// For trees that have no links.
Reading<std::string_view> Directory::read_owned(std::string_view path, std::uint32_t owner,
                                                std::span<char> buffer) const {
  const Reading<FileFacts> facts = stat(path);
  if (!facts) return facts.is_absent() ? Reading<std::string_view>(facts.absent()) : facts.failure();
  if (!facts->is_regular() || facts->uid != owner) return Absent{Reason::kernel, ENOENT};
  return read(path, buffer);
}

std::vector<std::string> sorted_names(const Directory& directory, std::string_view path) {
  std::vector<std::string> names;
  (void)directory.for_each(path, [&](std::string_view name) {
    names.emplace_back(name);
    return true;
  });
  std::ranges::sort(names);
  return names;
}

}  // namespace igpu
