// SPDX-License-Identifier: Apache-2.0
#include <cerrno>

#include "platform/file_stamp.h"
#include "platform/windows_headers.h"

namespace igpu::exporter {
namespace {

constexpr std::int64_t kUnixEpochTicks = 116'444'736'000'000'000;  // in 100 ns since 1601

FileStamp::Time to_time(std::int64_t hundreds) {
  return FileStamp::Time(std::chrono::nanoseconds((hundreds - kUnixEpochTicks) * 100));
}

}  // namespace

FileStamp file_stamp(const std::string& path) {
  constexpr DWORD kShareAll = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
  const HANDLE opened = ::CreateFileA(path.c_str(), FILE_READ_ATTRIBUTES, kShareAll, nullptr, OPEN_EXISTING,
                                      FILE_FLAG_BACKUP_SEMANTICS, nullptr);
  if (opened == INVALID_HANDLE_VALUE) return {.error = errno_of(::GetLastError())};
  const UniqueHandle file(opened);
  BY_HANDLE_FILE_INFORMATION facts{};
  FILE_BASIC_INFO times{};
  if (!::GetFileInformationByHandle(opened, &facts) ||
      !::GetFileInformationByHandleEx(opened, FileBasicInfo, &times, sizeof times)) {
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
