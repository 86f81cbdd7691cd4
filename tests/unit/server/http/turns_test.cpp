// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <thread>

#include "server/http/front.h"

using namespace igpu::exporter;
using namespace std::chrono_literals;

TEST_SUITE_BEGIN("turns");

namespace {

constexpr auto kEver = 60s;

// A second thread that waits for its turn, as often as the test asks for it.
class Second {
 public:
  explicit Second(Turns& turns) : turns_(turns) { wait(); }
  ~Second() { turns_.end(); }
  Second(const Second&) = delete;
  Second& operator=(const Second&) = delete;

  void wait() {
    got_ = std::async(std::launch::async, [this] { return turns_.wait(); });
  }
  bool has_turn_within(std::chrono::milliseconds time) { return got_.wait_for(time) == std::future_status::ready; }
  bool got_turn() { return has_turn_within(kEver) && got_.get(); }

 private:
  Turns& turns_;
  std::future<bool> got_;
};

// Leaves the task once another thread is on standby.
void leave(Turns& turns, std::chrono::milliseconds at_most) {
  const auto until = std::chrono::steady_clock::now() + kEver;
  while (!turns.leave(at_most) && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
}

}  // namespace

TEST_CASE("the first thread that asks has the task, and may leave it before the second one asks") {
  Turns turns;
  CHECK(turns.wait());
  CHECK(turns.leave(1ms));
  std::this_thread::sleep_for(5ms);
  CHECK(turns.come_back());
  CHECK(turns.leave(1ms));
  std::this_thread::sleep_for(5ms);
  Second second(turns);  // the alarm has expired already
  CHECK(second.got_turn());
  CHECK_FALSE(turns.come_back());
}

TEST_CASE("a holder that comes back in time goes on, and the other thread sleeps") {
  Turns turns;
  REQUIRE(turns.wait());
  Second second(turns);
  for (int i = 0; i < 1000; ++i) {
    leave(turns, kEver);
    CHECK(turns.come_back());
  }
  CHECK_FALSE(second.has_turn_within(20ms));
  turns.end();
  CHECK_FALSE(second.got_turn());
}

TEST_CASE("a holder that stays away loses the task, and takes it over in turn when it is left again") {
  Turns turns;
  REQUIRE(turns.wait());
  Second second(turns);
  leave(turns, 1ms);
  REQUIRE(second.got_turn());
  CHECK_FALSE(turns.leave(1ms));  // by the second thread: the first one still works, nobody is on standby
  CHECK_FALSE(turns.come_back());

  second.wait();  // the roles are swapped: the first thread waits in its place
  leave(turns, 1ms);
  REQUIRE(second.got_turn());
  CHECK_FALSE(turns.come_back());
  turns.end();
  CHECK_FALSE(turns.wait());
}

TEST_CASE("at any moment at most one thread has the task, however the times fall") {
  constexpr int kRounds = 1000;
  Turns turns;
  std::atomic<int> holders = 0;
  std::atomic<int> most = 0;
  std::atomic<int> rounds = 0;
  std::atomic<int> hand_overs = 0;
  const auto hold = [&] {
    const int now = ++holders;
    if (now > most) most = now;
  };
  const auto work = [&] {
    while (turns.wait()) {
      hold();
      for (;;) {
        if (rounds == kRounds) {
          --holders;
          turns.end();
          break;
        }
        --holders;
        if (!turns.leave(1ms)) {
          hold();
          std::this_thread::yield();
          continue;
        }
        std::this_thread::sleep_for(++rounds % 16 == 0 ? 2ms : 50us);
        if (!turns.come_back()) {
          ++hand_overs;
          break;
        }
        hold();
      }
    }
  };
  std::thread first(work);
  std::thread second(work);
  first.join();
  second.join();
  CHECK(most == 1);
  CHECK(hand_overs > 0);
}

TEST_CASE("the end wakes a thread on standby, also if it comes late") {
  Turns turns;
  REQUIRE(turns.wait());
  Second second(turns);
  turns.end();
  CHECK_FALSE(second.got_turn());
  CHECK_FALSE(turns.wait());
}

TEST_SUITE_END();
