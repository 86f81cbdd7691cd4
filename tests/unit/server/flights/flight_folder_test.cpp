// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <system_error>

#include "server/flights/flight_files.h"
#include "support/scratch_folder.h"

using namespace igpu;
using namespace igpu::exporter;
using namespace igpu::test;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::set<std::string> names(const ScratchFolder& folder) {
  std::set<std::string> found;
  for (const auto& entry : fs::directory_iterator(folder.path(""))) found.insert(entry.path().filename());
  return found;
}

// Files that this process writes may not be longer meanwhile, as if the disk were full.
class ShortFiles {
 public:
  explicit ShortFiles(rlim_t most) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{most, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~ShortFiles() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }
  ShortFiles(const ShortFiles&) = delete;
  ShortFiles& operator=(const ShortFiles&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

}  // namespace

TEST_SUITE_BEGIN("flight_folder");

TEST_CASE("the name tells the time, the number and the cause") {
  Flight flight;
  flight.number = 7;
  flight.event.cause = FlightCause::engine_busy;
  flight.event.time = 5s;
  flight.unix_offset = std::chrono::seconds(1'699'999'995);
  const std::string name = FlightFolder::name_of(flight);
  CHECK(name == "flight-20231114T221320Z-000007-engine_busy.pftrace");
  CHECK(FlightFolder::is_name(name));
  flight.number = 10;
  CHECK(name < FlightFolder::name_of(flight));  // of the same second: the one before it
  flight.event.cause = FlightCause::scrape_failed;
  flight.number = ~std::uint64_t{0};
  CHECK(FlightFolder::is_name(FlightFolder::name_of(flight)));
  for (const char* other :
       {"", "flight-", "flight-x.pftrace/..", "flight-../x.pftrace", "/flight-x.pftrace", ".new-flight-x.pftrace"})
    CHECK_FALSE(FlightFolder::is_name(other));
}

TEST_CASE("the last ten stay, and what is not a flight is left alone") {
  const ScratchFolder scratch;
  scratch.write("notes", "mine");
  scratch.write("flight-plan", "mine");
  const FlightFolder folder(scratch.path(""));
  for (int i = 10; i < 22; ++i) folder.keep("flight-" + std::to_string(i) + "-hang.pftrace", std::to_string(i));
  const auto found = names(scratch);
  CHECK(found.size() == FlightFolder::kMost + 2);
  CHECK_FALSE(found.contains("flight-11-hang.pftrace"));
  CHECK(content(scratch.path("flight-12-hang.pftrace")) == "12");
  CHECK(content(scratch.path("flight-plan")) == "mine");
}

TEST_CASE("a flight whose name is older than all others, because the clock was put back, stays") {
  const ScratchFolder scratch;
  const FlightFolder folder(scratch.path(""));
  for (int i = 10; i < 22; ++i) folder.keep("flight-2" + std::to_string(i) + "-hang.pftrace", "x");
  folder.keep("flight-19700101T000000Z-hang.pftrace", "new");
  const auto found = names(scratch);
  CHECK(found.size() == FlightFolder::kMost);
  CHECK(found.contains("flight-19700101T000000Z-hang.pftrace"));
  CHECK_FALSE(found.contains("flight-212-hang.pftrace"));
}

TEST_CASE("two flights of one cause in the same second have two files") {
  Flight one;
  one.event.cause = FlightCause::hang;
  one.number = 1;
  Flight other = one;
  other.number = 2;
  CHECK(FlightFolder::name_of(one) != FlightFolder::name_of(other));
}

TEST_CASE("flights that were only asked for go before those of faults") {
  const ScratchFolder scratch;
  const FlightFolder folder(scratch.path(""));
  for (int i = 10; i < 20; ++i) folder.keep("flight-" + std::to_string(i) + "-1-hang.pftrace", "x");
  for (int i = 20; i < 30; ++i) folder.keep("flight-" + std::to_string(i) + "-1-request.pftrace", "x");
  const auto found = names(scratch);
  CHECK(found.size() == FlightFolder::kMost);
  CHECK_FALSE(found.contains("flight-10-1-hang.pftrace"));
  CHECK(found.contains("flight-11-1-hang.pftrace"));
  CHECK(found.contains("flight-29-1-request.pftrace"));
}

TEST_CASE("what was left unfinished is removed at the start") {
  const ScratchFolder scratch;
  scratch.write(".new-flight-20231114T221320Z-hang.pftrace", "half");
  const FlightFolder folder(scratch.path(""));
  CHECK(names(scratch).empty());
}

TEST_CASE("a flight that does not fit leaves nothing behind, and those before it stay") {
  const ScratchFolder scratch;
  const FlightFolder folder(scratch.path(""));
  folder.keep("flight-1-hang.pftrace", "first");
  {
    const ShortFiles full(16);
    CHECK_THROWS_AS(folder.keep("flight-2-hang.pftrace", std::string(1000, 'x')), std::system_error);
  }
  CHECK(names(scratch) == std::set<std::string>{"flight-1-hang.pftrace"});
}

// In a folder like /tmp anybody may make files, and nobody may remove those of others.
TEST_CASE("in a shared folder nobody can keep flights from being written") {
  const ScratchFolder scratch;
  scratch.write(".new-flight-test", "another's");
  scratch.write(".new-flight-1-hang.pftrace", "another's");
  for (const char* name : {".new-flight-2-hang.pftrace", "flight-0-hang.pftrace", "flight-3-hang.pftrace"})
    fs::create_directory(scratch.path(name));
  const FlightFolder folder(scratch.path(""));
  CHECK_NOTHROW(folder.check());
  for (int i = 1; i < 30; ++i) CHECK_NOTHROW(folder.keep("flight-" + std::to_string(i) + "-hang.pftrace", "own"));
  std::size_t own = 0;
  for (const std::string& name : FlightFolder::names(scratch.path(""))) own += content(scratch.path(name)) == "own";
  CHECK(own == FlightFolder::kMost);
  CHECK(fs::is_directory(scratch.path("flight-0-hang.pftrace")));
  CHECK(fs::is_directory(scratch.path("flight-3-hang.pftrace")));
}

TEST_CASE("flights of another user are neither counted nor removed nor replaced") {
  if (::geteuid() != 0) return;  // only root can give files away
  const ScratchFolder scratch;
  for (int i = 10; i < 30; ++i) {
    const std::string name = "flight-" + std::to_string(i) + "-hang.pftrace";
    scratch.write(name, "another's");
    REQUIRE(::chown(scratch.path(name).c_str(), 65534, 65534) == 0);
  }
  const FlightFolder folder(scratch.path(""));
  folder.keep("flight-20-hang.pftrace", "own");
  const auto found = names(scratch);
  CHECK(found.size() == 21);
  CHECK(content(scratch.path("flight-20-hang.pftrace")) == "another's");
}

TEST_CASE("a folder that is missing, or none, is refused") {
  const ScratchFolder scratch;
  scratch.write("file", "");
  CHECK_THROWS_AS(FlightFolder(scratch.path("missing")), std::system_error);
  CHECK_THROWS_AS(FlightFolder(scratch.path("file")), std::system_error);
}

TEST_CASE("whether there may be files is tried, and the trial leaves none") {
  const ScratchFolder scratch;
  const FlightFolder folder(scratch.path(""));
  folder.check();
  CHECK(names(scratch).empty());
}
