// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/reading.h"
#include "igpu/units.h"

// Access to /sys, /proc and /dev. All paths are relative to a root that was chosen at start; nothing outside it is ever
// opened, and what the tree lacks does not exist (no fallback to the real machine).
//
// How errno becomes an outcome, here and nowhere else:
//   ENOENT ENODEV ENXIO ENOTDIR ENODATA EOPNOTSUPP ESRCH EINVAL(readlink)
//                              -> Absent{kernel, errno}; a source may know it to be hardware
//   EACCES EPERM               -> Absent{permission, errno}
//   all others (EIO, ETIMEDOUT, ...)
//                              -> Failure
namespace igpu {

// A file that is kept open and read again and again (sysfs attribute, procfs file): one pread from 0 a read.
// Not copyable; one thread at a time.
class File {
 public:
  virtual ~File() = default;
  // The content, in buffer. A file that does not fit is a Failure (EFBIG), not a cut-off value. EINTR is retried.
  // A file whose device is gone is Absent{kernel, ENODEV}. Outside sysfs and procfs (a copied tree) a file that was
  // replaced is opened again, and one that was deleted is Absent{kernel, ENOENT}.
  virtual Reading<std::string_view> read(std::span<char> buffer) = 0;
};

struct FileFacts {
  std::uint32_t mode = 0;  // type and permissions as stat(2)
  std::uint32_t uid = 0;
  std::uint64_t rdev = 0;
  std::uint64_t inode = 0;  // changes when sysfs recreates a directory
  std::uint64_t size = 0;   // of /proc/<pid>/fd: the number of open descriptors, from Linux 6.2
  Nanoseconds modified{};   // since 1970; zero: unknown

  bool is_regular() const { return (mode & 0170000) == 0100000; }
};

class Directory {
 public:
  virtual ~Directory() = default;

  // Open, read, close. As File::read.
  virtual Reading<std::string_view> read(std::string_view path, std::span<char> buffer) const = 0;
  // As read, for a file that its owner may have put there to mislead: only a regular file of this user, to which no
  // link leads; everything else is Absent{kernel, ENOENT}. Never waits, as the writer of a FIFO could make read do.
  virtual Reading<std::string_view> read_owned(std::string_view path, std::uint32_t owner,
                                               std::span<char> buffer) const;
  // As read, but a file that does not fit is cut off at the end of the buffer; for files of which only the start
  // matters.
  virtual Reading<std::string_view> read_start(std::string_view path, std::span<char> buffer) const = 0;
  virtual Reading<std::unique_ptr<File>> open(std::string_view path) const = 0;
  virtual Reading<std::unique_ptr<Directory>> open_directory(std::string_view path) const = 0;
  // Calls visit(name) for every entry of the directory at path ("." for this one) except "." and ".."; stops when visit
  // returns false. In the kernel's order.
  virtual Reading<Unit> for_each(std::string_view path,
                                 const std::function<bool(std::string_view name)>& visit) const = 0;
  virtual Reading<std::string> read_link(std::string_view path) const = 0;
  // path with every link followed, relative to the root of this file system ("devices/pci0000:00/...").
  virtual Reading<std::string> resolve(std::string_view path) const = 0;
  virtual Reading<FileFacts> stat(std::string_view path) const = 0;
};

// Names in a directory, sorted; empty if it cannot be listed.
std::vector<std::string> sorted_names(const Directory& directory, std::string_view path);

// Maps errno as described above. For other parts of machine/.
template <class T>
Reading<T> outcome_of_errno(int error, std::string_view where);
Absent absent_of_errno(int error);
bool errno_means_absent(int error);

// A directory of the real machine (or of a tree with the same layout). Throws std::system_error if root is not a
// directory.
std::unique_ptr<Directory> open_root(const std::string& root);

template <class T>
Reading<T> outcome_of_errno(int error, std::string_view where) {
  if (errno_means_absent(error)) return absent_of_errno(error);
  return Failure{std::error_code(error, std::generic_category()), std::string(where)};
}

}  // namespace igpu
