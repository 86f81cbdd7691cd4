// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <system_error>
#include <vector>

#include "server/flights/flight_files.h"
#include "server/flights/flight_folder.h"
#include "text/formatted.h"
#include "text/utc.h"

namespace igpu::exporter {
namespace {

constexpr std::string_view kPrefix = "flight-";
constexpr std::string_view kSuffix = ".pftrace";
constexpr std::string_view kUnfinished = ".new-flight-";
constexpr int kCreate = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
constexpr mode_t kMode = 0640;

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

// So that nobody else can have made a file of this name in a folder that others may write to.
std::string random_digits() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) fail("getrandom");
  return formatted("%016llx", static_cast<unsigned long long>(number));
}

// Of regular files. Sorted: the oldest first. owner: only this user's.
std::vector<std::string> names_in(int folder, std::string_view prefix, std::string_view suffix,
                                  std::optional<uid_t> owner = {}) {
  UniqueFd again(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));  // has a position of its own
  if (!again) fail("open");
  const std::unique_ptr<DIR, int (*)(DIR*)> list(::fdopendir(again.get()), ::closedir);
  if (!list) fail("list");
  (void)again.release();  // the list closes it
  std::vector<std::string> names;
  while (const dirent* const entry = ::readdir(list.get())) {
    const std::string_view name = entry->d_name;
    struct stat facts {};
    if (name.starts_with(prefix) && name.ends_with(suffix) &&
        ::fstatat(folder, entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(facts.st_mode) &&
        facts.st_uid == owner.value_or(facts.st_uid))
      names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

void write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = ::write(file, bytes.data(), bytes.size());
    if (size < 0 && errno != EINTR) fail("write");
    if (size > 0) bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  if (::fsync(file) != 0) fail("fsync");
}

}  // namespace

FlightFolder::FlightFolder(const std::string& path)
    : folder_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), owner_(::geteuid()) {
  if (!folder_) fail(path);
  for (const std::string& name : names_in(folder_.get(), kUnfinished, {}, owner_))
    (void)::unlinkat(folder_.get(), name.c_str(), 0);
}

void FlightFolder::keep(std::string name, std::string_view bytes) const {
  const std::string unfinished = std::string(kUnfinished) + random_digits();
  UniqueFd file(::openat(folder_.get(), unfinished.c_str(), kCreate, kMode));
  if (!file) fail("create");
  try {
    write_all(file.get(), bytes);
    struct stat other {};
    if (::fstatat(folder_.get(), name.c_str(), &other, AT_SYMLINK_NOFOLLOW) == 0 &&
        (!S_ISREG(other.st_mode) || other.st_uid != owner_))
      name.insert(name.rfind('-'), "-" + random_digits());
    if (::renameat(folder_.get(), unfinished.c_str(), folder_.get(), name.c_str()) != 0) fail("rename");
  } catch (const std::system_error&) {
    (void)::unlinkat(folder_.get(), unfinished.c_str(), 0);
    throw;
  }
  // A clock that was put back makes names of the past: the new flight is not the one that goes.
  std::vector<std::string> names = names_in(folder_.get(), kPrefix, kSuffix, owner_);
  std::erase(names, name);
  std::stable_partition(names.begin(), names.end(),
                        [](const std::string& one) { return one.ends_with("-request.pftrace"); });
  for (std::size_t i = 0; i + (kMost - 1) < names.size(); ++i)
    if (::unlinkat(folder_.get(), names[i].c_str(), 0) != 0 && errno != ENOENT) fail("remove " + names[i]);
}

void FlightFolder::check() const {
  const std::string name = std::string(kUnfinished) + random_digits();
  const UniqueFd file(::openat(folder_.get(), name.c_str(), kCreate, kMode));
  if (!file) fail("create");
  if (::unlinkat(folder_.get(), name.c_str(), 0) != 0) fail("remove");
}

std::vector<std::string> FlightFolder::names(const std::string& path) {
  const UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) fail(path);
  return names_in(folder.get(), kPrefix, kSuffix);
}

std::string FlightFolder::name_of(const Flight& flight) {
  const time_t seconds = std::chrono::duration_cast<std::chrono::seconds>(unix_time(flight, flight.event.time)).count();
  const tm parts = utc_of(seconds);
  std::array<char, 32> text{};
  const std::size_t size = ::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ-", &parts);
  // Padded, so that flights of one second sort by number as well.
  return std::string(kPrefix) + std::string(text.data(), size) +
         formatted("%06llu-", static_cast<unsigned long long>(flight.number)) +
         std::string(to_string(flight.event.cause)) + std::string(kSuffix);
}

bool FlightFolder::is_name(std::string_view name) {
  return name.size() <= kLongestName && name.starts_with(kPrefix) && name.ends_with(kSuffix) &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

}  // namespace igpu::exporter
