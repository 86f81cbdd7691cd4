// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <io.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <system_error>

#include "platform/new_file.h"
#include "platform/windows_headers.h"

namespace igpu::exporter {
namespace {

[[noreturn]] void fail(int error) { throw FileError(std::generic_category().message(error), error); }

}  // namespace

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.find_last_of("/\\");
  if (slash == std::string::npos) return ".";
  return slash == 0 ? path.substr(0, 1) : path.substr(0, slash);
}

// Whether the folder's access list permits it is known when the file is made.
void check_new_file(const std::string& path) {
  if (::GetFileAttributesA(path.c_str()) != INVALID_FILE_ATTRIBUTES) fail(EEXIST);
  const DWORD folder = ::GetFileAttributesA(folder_of(path).c_str());
  if (folder == INVALID_FILE_ATTRIBUTES || (folder & FILE_ATTRIBUTE_DIRECTORY) == 0) fail(ENOENT);
}

// The folder's access list is that of the file: the mode has no counterpart.
NewFile::NewFile(const std::string& path, mode_t /*mode*/) : path_(path) {
  std::random_device random;
  for (int i = 0; i < 100 && !file_; ++i) {
    temporary_ = folder_of(path) + "/.new-" + std::to_string(random());
    file_ = UniqueFd(::_open(temporary_.c_str(), _O_WRONLY | _O_CREAT | _O_EXCL | _O_BINARY | _O_NOINHERIT, _S_IWRITE));
    if (!file_ && errno != EEXIST) break;
  }
  if (file_) return;
  temporary_.clear();
  fail(errno);
}

NewFile::~NewFile() {
  file_.reset();  // an open file cannot be removed
  if (!temporary_.empty()) (void)::_unlink(temporary_.c_str());
}

void NewFile::finish(std::string_view bytes, Existing existing) {
  while (!bytes.empty()) {
    constexpr std::size_t kAtOnce = 1U << 20;
    const int size = ::_write(file_.get(), bytes.data(), static_cast<unsigned>(std::min(bytes.size(), kAtOnce)));
    if (size < 0) fail(errno);
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  if (::_commit(file_.get()) != 0) fail(errno);
  file_.reset();
  const DWORD attributes = ::GetFileAttributesA(path_.c_str());
  if (existing == Existing::is_replaced && attributes != INVALID_FILE_ATTRIBUTES) {
    if ((attributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0)
      throw FileError("a symbolic link is not followed; name the file itself", 0);
    if ((attributes & FILE_ATTRIBUTE_DIRECTORY) != 0) throw FileError("not a regular file", 0);
  }
  const DWORD flags = MOVEFILE_WRITE_THROUGH | (existing == Existing::is_replaced ? MOVEFILE_REPLACE_EXISTING : 0);
  if (!::MoveFileExA(temporary_.c_str(), path_.c_str(), flags)) {
    const DWORD error = ::GetLastError();
    if (errno_of(error) == EEXIST) fail(EEXIST);
    throw FileError(windows_error_text(error), errno_of(error));
  }
  temporary_.clear();
}

}  // namespace igpu::exporter
