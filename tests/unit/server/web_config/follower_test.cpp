// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

#include "server/web_config/web_config_file.h"
#include "support/held_calls.h"
#include "support/recording_log.h"
#include "support/scratch_folder.h"

using namespace igpu;
using namespace igpu::exporter;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

// Neither is weaker than the other.
constexpr const char* kHeader = "http_server_config: {headers: {X-XSS-Protection: one}}\n";
constexpr const char* kOtherHeader = "http_server_config: {headers: {X-XSS-Protection: other}}\n";

struct Clock {
  std::shared_ptr<std::atomic<long>> seconds = std::make_shared<std::atomic<long>>(1000);
  std::chrono::steady_clock::time_point operator()() const {
    return std::chrono::steady_clock::time_point(std::chrono::seconds(seconds->load()));
  }
  void advance(long by) { *seconds += by; }
};

std::string first_header(WebConfigFollower& follower) { return follower.current()->config.headers.front().second; }

}  // namespace

TEST_SUITE_BEGIN("web_config_follower");

TEST_CASE("a change applies to the next request, one second after the last check; before start() nothing is checked") {
  const ScratchFolder folder;
  RecordingLog log;
  Clock clock;
  WebConfigFollower follower(folder.write("web.yml", kHeader), log, {.now = clock, .reload_wait = 5min});
  folder.write("web.yml", kOtherHeader);
  clock.advance(10);
  CHECK(first_header(follower) == "one");
  follower.start();
  CHECK(first_header(follower) == "other");
  folder.write("web.yml", kHeader);
  CHECK(first_header(follower) == "other");
  clock.advance(1);
  CHECK(first_header(follower) == "one");
  CHECK(log.count(LogLevel::info) == 2);
  CHECK(follower.successful());
}

TEST_CASE("while a file system hangs the previous configuration is served without a delay, and one line is logged") {
  const ScratchFolder folder;
  RecordingLog log;
  Clock clock;
  WebConfigFollower follower(folder.write("web.yml", kHeader), log,
                             {.now = clock, .reload_wait = 1ms, .hang_timeout = 5s});
  HeldCalls calls([&] { follower.start(); });
  calls.hold();
  folder.write("web.yml", kOtherHeader);
  clock.advance(1);
  CHECK(first_header(follower) == "one");
  calls.wait_for_one();
  for (int i = 0; i < 4; ++i) {
    clock.advance(1);
    CHECK(first_header(follower) == "one");
  }
  CHECK(follower.successful());
  CHECK(log.lines().empty());
  std::vector<std::thread> threads;
  clock.advance(1);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 1000; ++k) CHECK(first_header(follower) == "one");
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_FALSE(follower.successful());
  REQUIRE(log.lines().size() == 1);
  CHECK(
      log.lines().back().text ==
      "the web configuration cannot be read: the file system does not respond; the current configuration stays in use "
      "file=" +
          folder.path("web.yml") + " hint=check the file systems of this file and of the files that it names");
  calls.release();
  while (first_header(follower) == "one" || !follower.successful()) std::this_thread::yield();
  folder.write("web.yml", kHeader);
  clock.advance(1);
  while (first_header(follower) == "other") std::this_thread::yield();
  CHECK(log.count(LogLevel::error) == 1);
  bool logged = false;
  for (const auto& line : log.lines()) logged = logged || line.text == "the web configuration can be read again";
  CHECK(logged);
}

TEST_CASE("the program ends while a check hangs, and nothing is logged afterwards") {
  const ScratchFolder folder;
  RecordingLog log;
  Clock clock;
  auto follower = std::make_unique<WebConfigFollower>(
      folder.write("web.yml", kHeader), log,
      WebConfigFollower::Options{.now = clock, .reload_wait = 1ms, .stop_timeout = 1ms});
  HeldCalls calls([&] { follower->start(); });
  calls.hold();
  folder.write("web.yml", "nonsense: 1\n");
  clock.advance(1);
  (void)follower->current();
  calls.wait_for_one();
  follower.reset();
  calls.release();
  CHECK(log.lines().empty());
}

TEST_CASE("a pipe in place of the file is rejected without a wait for a writer") {
  const ScratchFolder folder;
  RecordingLog log;
  Clock clock;
  WebConfigFollower follower(folder.write("web.yml", kHeader), log, {.now = clock, .reload_wait = 5min});
  follower.start();
  REQUIRE(::mkfifo(folder.path("fifo").c_str(), 0600) == 0);
  std::filesystem::create_symlink(folder.path("fifo"), folder.path("link"));
  std::filesystem::rename(folder.path("link"), folder.path("web.yml"));
  for (int i = 0; i < 3; ++i) {
    clock.advance(1);
    CHECK(first_header(follower) == "one");
  }
  REQUIRE(log.count(LogLevel::error) == 1);
  CHECK(log.lines().back().text.find("not a regular file") != std::string::npos);
  CHECK_FALSE(follower.successful());
}

TEST_CASE("many threads can request the configuration while the file changes") {
  const ScratchFolder folder;
  RecordingLog log;
  Clock clock;
  WebConfigFollower follower(folder.write("web.yml", kHeader), log,
                             {.now = clock, .reload_wait = 5min, .hang_timeout = 24h});
  follower.start();
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        const std::string value = first_header(follower);
        if (value != "one" && value != "other") ++wrong;
      }
    });
  }
  for (int i = 0; i < 50; ++i) {
    folder.write("web.yml", i % 2 == 0 ? kOtherHeader : kHeader);
    clock.advance(1);
    CHECK(follower.current() != nullptr);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(log.count(LogLevel::error) == 0);
}

TEST_SUITE_END();
