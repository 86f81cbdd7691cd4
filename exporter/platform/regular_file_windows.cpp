// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <io.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <system_error>

#include "platform/regular_file.h"
#include "platform/windows_headers.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kAtOnce = 1U << 20;  // bytes that are read or written

[[noreturn]] void fail(int error) { throw FileError(std::generic_category().message(error), error); }

[[noreturn]] void fail_by_windows() {
  const DWORD error = ::GetLastError();
  if (errno_of(error) == EIO) throw FileError(windows_error_text(error), EIO);
  fail(errno_of(error));
}

// The descriptor owns the handle.
UniqueFd opened(const std::string& path, DWORD access, DWORD share, DWORD how, DWORD flags, int mode) {
  const HANDLE handle = ::CreateFileA(path.c_str(), access, share, nullptr, how, flags, nullptr);
  if (handle == INVALID_HANDLE_VALUE) fail_by_windows();
  UniqueHandle file(handle);
  // Pipes, the console and NUL are names of files, too.
  if (::GetFileType(handle) != FILE_TYPE_DISK) throw FileError("not a regular file", 0);
  UniqueFd descriptor(::_open_osfhandle(reinterpret_cast<intptr_t>(handle), mode | _O_BINARY | _O_NOINHERIT));
  if (!descriptor) fail(errno);
  (void)file.release();
  return descriptor;
}

constexpr std::int64_t kUnixEpochTicks = 116'444'736'000'000'000;  // in 100 ns since 1601

FileStamp::Time to_time(std::int64_t hundreds) {
  return FileStamp::Time(std::chrono::nanoseconds((hundreds - kUnixEpochTicks) * 100));
}

}  // namespace

RegularFile::RegularFile(const std::string& path) {
  const DWORD attributes = ::GetFileAttributesA(path.c_str());
  if (attributes == INVALID_FILE_ATTRIBUTES) fail_by_windows();
  if ((attributes & FILE_ATTRIBUTE_DIRECTORY) != 0) throw FileError("Is a directory, not a regular file", EISDIR);
  file_ = opened(path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, OPEN_EXISTING,
                 FILE_ATTRIBUTE_NORMAL, _O_RDONLY);
  const __int64 size = ::_filelengthi64(file_.get());
  if (size < 0) fail(errno);
  size_ = static_cast<std::size_t>(size);
}

std::string RegularFile::first(std::size_t bytes) const {
  std::string text(std::min(bytes, size_), '\0');
  if (::_lseeki64(file_.get(), 0, SEEK_SET) < 0) fail(errno);
  std::size_t done = 0;
  while (done < text.size()) {
    const int got =
        ::_read(file_.get(), text.data() + done, static_cast<unsigned>(std::min(text.size() - done, kAtOnce)));
    if (got < 0) fail(errno);
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

int write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const int size = ::_write(file, bytes.data(), static_cast<unsigned>(std::min(bytes.size(), kAtOnce)));
    if (size < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return 0;
}

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
  if (write_all(file_.get(), bytes) != 0 || ::_commit(file_.get()) != 0) fail(errno);
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

FileStamp file_stamp(const std::string& path) {
  constexpr DWORD kShareAll = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
  const HANDLE handle = ::CreateFileA(path.c_str(), FILE_READ_ATTRIBUTES, kShareAll, nullptr, OPEN_EXISTING,
                                      FILE_FLAG_BACKUP_SEMANTICS, nullptr);
  if (handle == INVALID_HANDLE_VALUE) return {.error = errno_of(::GetLastError())};
  const UniqueHandle file(handle);
  BY_HANDLE_FILE_INFORMATION facts{};
  FILE_BASIC_INFO times{};
  if (!::GetFileInformationByHandle(handle, &facts) ||
      !::GetFileInformationByHandleEx(handle, FileBasicInfo, &times, sizeof times)) {
    return {.error = EIO};
  }
  const auto joined = [](DWORD high, DWORD low) { return (std::uint64_t{high} << 32U) | low; };
  return {.device = facts.dwVolumeSerialNumber,
          .file = joined(facts.nFileIndexHigh, facts.nFileIndexLow),
          .size = joined(facts.nFileSizeHigh, facts.nFileSizeLow),
          .modified = to_time(times.LastWriteTime.QuadPart),
          .changed = to_time(times.ChangeTime.QuadPart)};
}

}  // namespace igpu::exporter
