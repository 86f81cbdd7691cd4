// SPDX-License-Identifier: Apache-2.0
#include "flights/flight_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include "flights/flight_files.h"

namespace igpu::exporter {
namespace {

constexpr std::string_view kPrefix = "flight-";
constexpr std::string_view kSuffix = ".pftrace";
constexpr std::string_view kUnfinished = ".new-flight-";

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

// Sorted: the oldest first.
std::vector<std::string> names_in(int folder, std::string_view prefix, std::string_view suffix) {
  UniqueFd again(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));  // has a position of its own
  if (!again) fail("open");
  const std::unique_ptr<DIR, int (*)(DIR*)> list(::fdopendir(again.get()), ::closedir);
  if (!list) fail("list");
  (void)again.release();  // the list closes it
  std::vector<std::string> names;
  while (const dirent* const entry = ::readdir(list.get())) {
    const std::string_view name = entry->d_name;
    if (name.starts_with(prefix) && name.ends_with(suffix)) names.emplace_back(name);
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
    : folder_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (!folder_) fail(path);
  for (const std::string& name : names_in(folder_.get(), kUnfinished, {}))
    (void)::unlinkat(folder_.get(), name.c_str(), 0);
}

void FlightFolder::keep(const std::string& name, std::string_view bytes) const {
  const std::string unfinished = ".new-" + name;
  UniqueFd file(
      ::openat(folder_.get(), unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640));
  if (!file) fail("create");
  try {
    write_all(file.get(), bytes);
    if (::renameat(folder_.get(), unfinished.c_str(), folder_.get(), name.c_str()) != 0) fail("rename");
  } catch (const std::system_error&) {
    (void)::unlinkat(folder_.get(), unfinished.c_str(), 0);
    throw;
  }
  const std::vector<std::string> names = names_in(folder_.get(), kPrefix, kSuffix);
  for (std::size_t i = 0; i + kMost < names.size(); ++i)
    if (::unlinkat(folder_.get(), names[i].c_str(), 0) != 0 && errno != ENOENT) fail("remove " + names[i]);
}

std::string FlightFolder::name_of(const Flight& flight, std::int64_t unix_seconds) {
  const time_t seconds = unix_seconds;
  tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  const std::size_t size = ::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ-", &parts);
  return std::string(kPrefix) + std::string(text.data(), size) + std::string(to_string(flight.event.cause)) +
         std::string(kSuffix);
}

FlightKeeper::FlightKeeper(std::shared_ptr<const Flights> flights, FlightFolder folder, Log& log)
    : flights_(std::move(flights)), folder_(std::move(folder)), log_(log), thread_([this](const std::stop_token& stop) {
        std::uint64_t last = 0;
        while (const auto flight = flights_->next_after(last, stop)) {
          last = flight->number;
          write(*flight);
        }
      }) {}

void FlightKeeper::write(const Flight& flight) {
  const FlightClocks clocks = clocks_now();
  const std::int64_t begin = clocks.realtime_ns - clocks.monotonic_ns + flight.event.time.count();
  try {
    folder_.keep(FlightFolder::name_of(flight, begin / 1'000'000'000), flight_trace(flight, clocks));
    ++kept_;
    failed_ = false;
  } catch (const std::exception& error) {
    ++failures_;
    if (!std::exchange(failed_, true)) {
      log_.write(LogLevel::warn, "a flight could not be written",
                 {{"error", error.what()},
                  {"hint",
                   "make room in --flight.directory, or make the folder again and restart; the last flights are still "
                   "in memory (/api/v1/flights)"}});
    }
  }
}

}  // namespace igpu::exporter
