// SPDX-License-Identifier: Apache-2.0
// Both ends of the socket between the exporter and the process that writes flights; that process is a thread here.
#include <doctest/doctest.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/flights/flight_files.h"
#include "support/recording_log.h"
#include "support/scratch_folder.h"
#include "trace/trace_file.h"

using namespace igpu;
using namespace igpu::exporter;
using namespace igpu::test;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

std::set<std::string> names(const std::string& folder) {
  std::set<std::string> found;
  for (const auto& entry : fs::directory_iterator(folder)) found.insert(entry.path().filename());
  return found;
}

template <class Condition>
bool comes_true(Condition&& condition) {
  const auto give_up = std::chrono::steady_clock::now() + 60s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

struct Ends {
  Ends() {
    std::array<int, 2> ends{-1, -1};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
    exporter = UniqueFd(ends[0]);
    writer = UniqueFd(ends[1]);
  }
  UniqueFd exporter, writer;
};

// The writing process. Ends when the exporter's end is closed, or at once.
class Writer {
 public:
  Writer(UniqueFd socket, const std::string& folder)
      : thread_([socket = std::move(socket), folder = FlightFolder(folder)] { write_flights(socket.get(), folder); }) {}
  ~Writer() { thread_.join(); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

 private:
  std::thread thread_;
};

// Passes on what comes, until an end is closed.
void copy(int from, int to) {
  std::array<char, 65536> bytes{};
  for (;;) {
    const ssize_t size = ::recv(from, bytes.data(), bytes.size(), 0);
    if (size <= 0 || ::send(to, bytes.data(), static_cast<std::size_t>(size), MSG_NOSIGNAL) != size) return;
  }
}

Flight hang() {
  Flight flight;
  flight.event = {FlightCause::hang, "0000:03:00.0", "job_timeout", 1s};
  flight.frozen = 11s;
  // More than the socket holds at once.
  for (int i = 0; i < 200; ++i) flight.faults.push_back({"0000:03:00.0", std::string(5000, 'x'), 1s});
  return flight;
}

}  // namespace

TEST_SUITE_BEGIN("flight_writer");

TEST_CASE("each flight is written as a trace") {
  const ScratchFolder scratch;
  RecordingLog log;
  const auto flights = std::make_shared<Flights>();
  Ends ends;
  const Writer writer(std::move(ends.writer), scratch.path(""));
  FlightKeeper keeper(flights, std::move(ends.exporter), log);
  keeper.start();
  flights->add(hang());
  REQUIRE(comes_true([&] { return keeper.kept() == 1; }));
  const auto found = names(scratch.path(""));
  REQUIRE(found.size() == 1);
  std::ifstream file(scratch.path(*found.begin()), std::ios::binary);
  const auto trace = read_trace(std::string(std::istreambuf_iterator<char>(file), {}));
  REQUIRE(trace);
  CHECK(trace->whole());
  CHECK(trace->marks.size() == 201);
  CHECK(log.lines().empty());
}

TEST_CASE("a folder that goes away is counted and logged once, and flights stay in memory") {
  const ScratchFolder scratch;
  fs::create_directory(scratch.path("flights"));
  RecordingLog log;
  const auto flights = std::make_shared<Flights>();
  Ends ends;
  const Writer writer(std::move(ends.writer), scratch.path("flights"));
  FlightKeeper keeper(flights, std::move(ends.exporter), log);
  keeper.start();
  fs::remove(scratch.path("flights"));
  for (int i = 0; i < 3; ++i) flights->add({});
  REQUIRE(comes_true([&] { return keeper.failures() == 3; }));
  REQUIRE(log.lines().size() == 1);
  CHECK(log.lines()[0].text.find("No such file or directory") != std::string::npos);
  CHECK(log.lines()[0].text.find("make the folder again and restart") != std::string::npos);
  CHECK(flights->kept().size() == 3);
}

TEST_CASE("a folder that may not be written is an error at the start; one without room is not") {
  RecordingLog log;
  const auto flights = std::make_shared<Flights>();
  const auto start = [&](int error) {
    Ends ends;
    report_no_folder(ends.writer.get(), error, "create");
    FlightKeeper(flights, std::move(ends.exporter), log);
  };
  CHECK_THROWS_WITH_AS(start(EACCES), "create: Permission denied", std::runtime_error);
  CHECK(log.lines().empty());
  start(ENOSPC);
  CHECK(log.lines().size() == 1);
}

TEST_CASE("a writer that has ended is counted and logged once") {
  const ScratchFolder scratch;
  RecordingLog log;
  const auto flights = std::make_shared<Flights>();
  Ends ends;
  report_no_folder(ends.writer.get(), 0, "");
  FlightKeeper keeper(flights, std::move(ends.exporter), log);
  ends.writer.reset();
  keeper.start();
  for (int i = 0; i < 3; ++i) flights->add(hang());
  REQUIRE(comes_true([&] { return keeper.failures() == 3; }));
  CHECK(log.lines().size() == 1);
}

TEST_CASE("a disk that is slow costs the flights of that time; when it answers, writing goes on") {
  const ScratchFolder scratch;
  RecordingLog log;
  const auto flights = std::make_shared<Flights>();
  Ends slow, disk;
  report_no_folder(slow.writer.get(), 0, "");
  FlightKeeper keeper(flights, std::move(slow.exporter), log, 1s);
  keeper.start();
  for (int i = 0; i < 2; ++i) flights->add(hang());
  REQUIRE(comes_true([&] { return keeper.failures() == 2; }));
  CHECK(keeper.kept() == 0);
  REQUIRE(log.lines().size() == 1);
  CHECK(log.lines()[0].text.find("when the disk answers") != std::string::npos);
  {
    const Writer writer(std::move(disk.writer), scratch.path(""));
    HelperAnswer report;  // the disk's own, at its start: the exporter has had one
    REQUIRE(::recv(disk.exporter.get(), &report, sizeof report, MSG_WAITALL) == sizeof report);
    const std::jthread to_disk([from = slow.writer.get(), to = disk.exporter.get()] { copy(from, to); });
    const std::jthread to_exporter([from = disk.exporter.get(), to = slow.writer.get()] { copy(from, to); });
    // The first one is written late, and the next one in time.
    CHECK(comes_true([&] {
      if (keeper.kept() < 2 && flights->kept().back()->number == keeper.failures() + keeper.kept())
        flights->add(hang());
      return keeper.kept() >= 2;
    }));
    ::shutdown(slow.writer.get(), SHUT_RDWR);
    ::shutdown(disk.exporter.get(), SHUT_RDWR);
  }
  CHECK(names(scratch.path("")).size() >= 2);
}

TEST_CASE("a writer that does not answer does not keep the exporter from ending") {
  RecordingLog log;
  const auto flights = std::make_shared<Flights>();
  Ends ends;
  report_no_folder(ends.writer.get(), 0, "");
  const auto began = std::chrono::steady_clock::now();
  {
    FlightKeeper keeper(flights, std::move(ends.exporter), log);
    keeper.start();
    flights->add(hang());
  }
  CHECK(std::chrono::steady_clock::now() - began < 50s);
}

TEST_CASE("the writer ends when it is sent what is no flight") {
  struct Head {
    std::uint32_t serial, what;
    std::int64_t milliseconds;
    std::uint64_t name_size, size;
  };
  const std::vector<std::pair<std::string, std::uint64_t>> wrong{{"../outside", 1},
                                                                 {"flight-/../outside.pftrace", 1},
                                                                 {"flight-x.pftrace", ~std::uint64_t{0}},
                                                                 {std::string(10'000, 'x'), 1}};
  for (const auto& [name, size] : wrong) {
    const ScratchFolder scratch;
    fs::create_directory(scratch.path("flights"));
    Ends ends;
    {
      const Writer writer(std::move(ends.writer), scratch.path("flights"));
      const Head header{1, 0, 0, name.size(), size};
      const void* const raw = &header;
      (void)::send(ends.exporter.get(), raw, sizeof header, MSG_NOSIGNAL);
      (void)::send(ends.exporter.get(), name.data(), name.size(), MSG_NOSIGNAL);
      (void)::send(ends.exporter.get(), "x", 1, MSG_NOSIGNAL);
    }  // it ends though this end is open
    CHECK(names(scratch.path("")) == std::set<std::string>{"flights"});
    CHECK(names(scratch.path("flights")).empty());
  }
}

TEST_SUITE_END();
