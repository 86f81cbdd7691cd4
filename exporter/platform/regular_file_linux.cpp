// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "platform/callers_rights.h"
#include "platform/regular_file.h"

namespace igpu::exporter {
namespace {

[[noreturn]] void fail_to_read(int error) { throw FileError(std::generic_category().message(error), error); }

void require_regular(const struct stat& facts) {
  if (S_ISREG(facts.st_mode)) return;
  if (S_ISDIR(facts.st_mode)) throw FileError("Is a directory, not a regular file", EISDIR);
  throw FileError("not a regular file", 0);
}

}  // namespace

RegularFile::RegularFile(const std::string& path) {
  const CallersRights callers;
  struct stat facts {};
  // Before it is opened, because that alone has an effect on some devices; and after, because it may be another file.
  if (::stat(path.c_str(), &facts) != 0) fail_to_read(errno);
  require_regular(facts);
  file_ = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file_ || ::fstat(file_.get(), &facts) != 0) fail_to_read(errno);
  require_regular(facts);
  size_ = static_cast<std::size_t>(facts.st_size);
  mode_ = facts.st_mode & 07777U;
}

std::string RegularFile::first(std::size_t bytes) const {
  std::string text(std::min(bytes, size_), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t got = ::pread(file_.get(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_to_read(errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  text.resize(done);
  return text;
}

UniqueFd open_to_write(const std::string& path) {
  const CallersRights callers;
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0644));
  if (!file && errno == ELOOP) throw FileError("a symbolic link is not followed; name the file itself", ELOOP);
  if (!file && errno == ENXIO) throw FileError("a FIFO that nothing reads", ENXIO);
  if (!file) fail_to_read(errno);
  const int flags = ::fcntl(file.get(), F_GETFL);
  if (flags < 0 || ::fcntl(file.get(), F_SETFL, flags & ~O_NONBLOCK) != 0) fail_to_read(errno);
  return file;
}

}  // namespace igpu::exporter
