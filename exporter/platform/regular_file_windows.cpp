// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <io.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "platform/regular_file.h"
#include "platform/windows_headers.h"

namespace igpu::exporter {
namespace {

[[noreturn]] void fail_to_read(int error) { throw FileError(std::generic_category().message(error), error); }

[[noreturn]] void fail_by_windows() {
  const DWORD error = ::GetLastError();
  if (errno_of(error) == EIO) throw FileError(windows_error_text(error), EIO);
  fail_to_read(errno_of(error));
}

// The descriptor owns the handle.
UniqueFd opened(const std::string& path, DWORD access, DWORD share, DWORD how, DWORD flags, int mode) {
  const HANDLE handle = ::CreateFileA(path.c_str(), access, share, nullptr, how, flags, nullptr);
  if (handle == INVALID_HANDLE_VALUE) fail_by_windows();
  UniqueHandle file(handle);
  // Pipes, the console and NUL are names of files, too.
  if (::GetFileType(handle) != FILE_TYPE_DISK) throw FileError("not a regular file", 0);
  UniqueFd descriptor(::_open_osfhandle(reinterpret_cast<intptr_t>(handle), mode | _O_BINARY | _O_NOINHERIT));
  if (!descriptor) fail_to_read(errno);
  (void)file.release();
  return descriptor;
}

}  // namespace

RegularFile::RegularFile(const std::string& path) {
  const DWORD attributes = ::GetFileAttributesA(path.c_str());
  if (attributes == INVALID_FILE_ATTRIBUTES) fail_by_windows();
  if ((attributes & FILE_ATTRIBUTE_DIRECTORY) != 0) throw FileError("Is a directory, not a regular file", EISDIR);
  file_ = opened(path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, OPEN_EXISTING,
                 FILE_ATTRIBUTE_NORMAL, _O_RDONLY);
  const __int64 size = ::_filelengthi64(file_.get());
  if (size < 0) fail_to_read(errno);
  size_ = static_cast<std::size_t>(size);
}

std::string RegularFile::first(std::size_t bytes) const {
  std::string text(std::min(bytes, size_), '\0');
  if (::_lseeki64(file_.get(), 0, SEEK_SET) < 0) fail_to_read(errno);
  std::size_t done = 0;
  while (done < text.size()) {
    constexpr std::size_t kAtOnce = 1U << 20;
    const int got =
        ::_read(file_.get(), text.data() + done, static_cast<unsigned>(std::min(text.size() - done, kAtOnce)));
    if (got < 0) fail_to_read(errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  text.resize(done);
  return text;
}

UniqueFd open_to_write(const std::string& path) {
  const DWORD attributes = ::GetFileAttributesA(path.c_str());
  if (attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0)
    throw FileError("a symbolic link is not followed; name the file itself", ELOOP);
  return opened(path, GENERIC_WRITE, FILE_SHARE_READ, OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL | FILE_FLAG_OPEN_REPARSE_POINT,
                _O_WRONLY);
}

}  // namespace igpu::exporter
