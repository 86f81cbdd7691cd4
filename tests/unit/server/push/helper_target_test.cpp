// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "server/push/push_target.h"

using namespace igpu;
using namespace igpu::exporter;
using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

struct FakeReadings final : PushReadings {
  std::string_view name() const override { return "fake"; }
  PushItem encode(const PageView&, std::chrono::system_clock::time_point) override { return {"item", 3}; }
  std::string standing() const override { return "what stands"; }
};

// Of the other process; here of another thread.
struct FakeClient final : PushClient {
  void keep(std::string_view standing) override { kept = standing; }
  PushOutcome deliver(std::string_view bytes, const PushWait& wait) override {
    delivered = bytes;
    ++deliveries;
    while (blocked) std::this_thread::sleep_for(1ms);
    if (throws) throw std::runtime_error("broken");
    if (!waits) return answer;
    waiting = true;
    interrupted = wait.on(-1, 0) == PushWait::Ended::interrupted;
    return PushOutcome::later("");
  }
  void idle(const PushWait& wait) override {
    if (idles) (void)wait.on(-1, 0);
  }
  void stop(const PushWait&) override { stopped = true; }

  std::string kept, delivered;
  PushOutcome answer;
  bool throws = false, waits = false, idles = true;
  int deliveries = 0;
  std::atomic<bool> blocked = false, waiting = false, interrupted = false, stopped = false;
};

class Helper {
 public:
  Helper() {
    std::array<int, 2> ends{-1, -1};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
    own = UniqueFd(ends[0]);
    other = UniqueFd(ends[1]);
  }
  ~Helper() {
    target.reset();
    if (thread.joinable()) thread.join();
  }
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;

  void start() {
    thread = std::thread([this] {
      serve_push(other.get(), client);
      other.reset();
    });
    target = std::make_unique<HelperTarget>(std::make_unique<FakeReadings>(), std::move(own));
  }
  static PushWait soon() { return {Clock::now() + 60s}; }

  UniqueFd own, other;
  FakeClient client;
  std::thread thread;
  std::unique_ptr<HelperTarget> target;
};

}  // namespace

TEST_SUITE_BEGIN("helper_target");

TEST_CASE("an item reaches the other process with what is standing, and its outcome comes back") {
  Helper helper;
  helper.client.answer = PushOutcome::later("try again", "so it says");
  helper.client.answer.retry_after = 7s;
  helper.client.answer.rejected = 5;
  helper.start();
  const std::string item(3'000'000, 'x');  // more than a socket takes at once
  const PushOutcome outcome = helper.target->deliver(item, Helper::soon());
  CHECK(outcome.kind == PushOutcome::Kind::later);
  CHECK(outcome.problem == "try again");
  CHECK(outcome.detail == "so it says");
  CHECK((outcome.retry_after == 7s));
  CHECK(outcome.rejected == 5);
  CHECK(helper.client.delivered == item);
  CHECK(helper.client.kept == "what stands");
}

TEST_CASE("what another process says is cut and cleaned before it is logged") {
  Helper helper;
  helper.client.answer = PushOutcome::refused("a\nline\x1b[2J" + std::string(5000, 'x'));
  helper.start();
  const PushOutcome outcome = helper.target->deliver("item", Helper::soon());
  CHECK(outcome.kind == PushOutcome::Kind::refused);
  CHECK(outcome.problem.find_first_of("\n\x1b") == std::string::npos);
  CHECK(outcome.problem.size() < 2000);
}

TEST_CASE("an exception of the client is an outcome") {
  Helper helper;
  helper.client.throws = true;
  helper.start();
  const PushOutcome outcome = helper.target->deliver("item", Helper::soon());
  CHECK(outcome.kind == PushOutcome::Kind::refused);
  CHECK(outcome.problem == "broken; please report this");
}

TEST_CASE("an interruption reaches the client with the next request, and its late answer is passed over") {
  Helper helper;
  helper.client.waits = true;
  helper.start();
  WakeUp stop;
  std::thread stopping([&] {
    while (!helper.client.waiting) std::this_thread::sleep_for(1ms);
    stop.raise();
  });
  const PushOutcome outcome = helper.target->deliver("item", {Clock::now() + 60s, stop.descriptor()});
  stopping.join();
  CHECK(outcome.kind == PushOutcome::Kind::later);
  CHECK(outcome.problem.empty());
  helper.target->stop(Helper::soon());
  CHECK(helper.client.interrupted);
  CHECK(helper.client.stopped);
}

TEST_CASE("what a process that has stopped reading did not begin to read is dropped, not kept for ever") {
  Helper helper;
  helper.client.blocked = true;
  helper.start();
  WakeUp now;
  now.raise();                             // each attempt is given up at once
  const std::string item(1'000'000, 'x');  // more than a socket takes
  for (int i = 0; i < 20; ++i) (void)helper.target->deliver(item, {Clock::now() + 60s, now.descriptor()});
  helper.client.blocked = false;
  const std::string last(1'000'001, 'y');
  CHECK(helper.target->deliver(last, Helper::soon()).problem.empty());
  CHECK(helper.client.delivered == last);
  CHECK(helper.client.deliveries <= 3);
}

TEST_CASE(
    "a process that answers at once while there is nothing to do keeps this one no busier than ten times a second") {
  Helper helper;
  helper.client.idles = false;
  helper.start();
  const auto begin = Clock::now();
  for (int i = 0; i < 3; ++i) helper.target->idle(Helper::soon());
  CHECK(Clock::now() - begin >= 300ms);
}

TEST_CASE("a process that could not start says why") {
  Helper helper;
  report_no_start(helper.other.get(), "/etc/token can be read by every user");
  CHECK_THROWS_WITH_AS(HelperTarget(std::make_unique<FakeReadings>(), std::move(helper.own)),
                       "/etc/token can be read by every user", std::runtime_error);
  Helper gone;
  gone.other.reset();
  CHECK_THROWS_WITH_AS(HelperTarget(std::make_unique<FakeReadings>(), std::move(gone.own)),
                       "the process that pushes did not start; please report this", std::runtime_error);
}

TEST_CASE("a process that has ended is a failed push whose line names the fix") {
  Helper helper;
  report_no_start(helper.other.get(), "");
  helper.target = std::make_unique<HelperTarget>(std::make_unique<FakeReadings>(), std::move(helper.own));
  helper.other.reset();
  for (int attempt = 0; attempt < 2; ++attempt) {
    const PushOutcome outcome = helper.target->deliver("item", Helper::soon());
    CHECK(outcome.kind == PushOutcome::Kind::later);
    CHECK(outcome.problem == "the process that pushes to the receiver has ended: restart the exporter");
  }
}

TEST_SUITE_END();
