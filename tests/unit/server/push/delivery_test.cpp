// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "server/push/pusher.h"
#include "support/recording_log.h"

using namespace igpu::exporter;
using igpu::LogLevel;
using igpu::PageView;
using igpu::test::RecordingLog;
using namespace std::chrono_literals;

namespace {

// What the receiver does; shared by the test's thread and the one that delivers.
struct Receiver {
  std::mutex mutex;
  std::vector<std::string> received;
  std::vector<PushOutcome> answers;  // then: delivered
  bool hangs = false, throws = false;
  std::atomic<int> attempts = 0, goodbyes = 0;

  std::vector<std::string> all() {
    const std::lock_guard lock(mutex);
    return received;
  }
};

class FakeTarget final : public PushTarget {
 public:
  explicit FakeTarget(Receiver& receiver) : receiver_(receiver) {}
  std::string_view name() const override { return "fake"; }
  PushItem encode(const PageView&, std::chrono::system_clock::time_point) override {
    return {std::to_string(++readings_), 10};
  }
  PushOutcome deliver(std::string_view bytes, const PushWait& wait) override {
    ++receiver_.attempts;
    if (receiver_.hangs) {
      (void)wait.on(-1, 0);
      return PushOutcome::later("");
    }
    const std::lock_guard lock(receiver_.mutex);
    if (receiver_.throws) throw std::runtime_error("broken");
    if (!receiver_.answers.empty()) {
      const PushOutcome answer = receiver_.answers.front();
      receiver_.answers.erase(receiver_.answers.begin());
      if (answer.kind != PushOutcome::Kind::delivered) return answer;
      receiver_.received.emplace_back(bytes);
      return answer;
    }
    receiver_.received.emplace_back(bytes);
    return {};
  }
  void stop(const PushWait&) override { ++receiver_.goodbyes; }

 private:
  Receiver& receiver_;
  int readings_ = 0;
};

// The deadline is for a loaded machine.
template <class Condition>
bool happens(const Condition& condition) {
  for (const auto until = std::chrono::steady_clock::now() + 60s; std::chrono::steady_clock::now() < until;) {
    if (condition()) return true;
    std::this_thread::sleep_for(1ms);
  }
  return false;
}

struct Delivering {
  RecordingLog log;
  Receiver receiver;
  PushMetrics metrics;
  PushCounters& counters = metrics.emplace_back("fake");
  std::unique_ptr<PushDelivery> delivery =
      std::make_unique<PushDelivery>(std::make_unique<FakeTarget>(receiver), counters, log);

  void add(int readings) {
    for (int i = 0; i < readings; ++i) delivery->add(PageView({}), {});
  }
};

}  // namespace

TEST_SUITE_BEGIN("push delivery");

TEST_CASE("readings are delivered in order, and counted") {
  Delivering test;
  test.add(3);
  CHECK(test.counters.queue_length == 3);
  CHECK(test.receiver.attempts == 0);
  test.delivery->start();
  CHECK(happens([&] { return test.counters.samples == 30; }));
  CHECK(test.receiver.all() == std::vector<std::string>{"1", "2", "3"});
  test.add(1);
  CHECK(happens([&] { return test.counters.samples == 40; }));
  CHECK(test.counters.failures == 0);
  CHECK(test.counters.queue_length == 0);
  test.delivery.reset();
  CHECK(test.receiver.goodbyes == 1);
  CHECK(test.log.lines().empty());
}

TEST_CASE("a reading that may be delivered later is kept, one that was refused is dropped, and each is logged once") {
  Delivering test;
  test.receiver.answers = {PushOutcome::later("down; fix it"), PushOutcome::later("down; fix it", "other words"),
                           PushOutcome::refused("wrong")};
  test.add(2);
  test.delivery->start();
  CHECK(happens([&] { return test.counters.samples == 10; }));
  CHECK(test.receiver.all() == std::vector<std::string>{"2"});
  CHECK(test.counters.failures == 3);
  CHECK(test.counters.dropped == 10);
  CHECK(happens([&] { return test.log.lines().size() == 3; }));
  const auto lines = test.log.lines();
  CHECK(lines[0].text.find("down; fix it") != std::string::npos);
  CHECK(lines[1].text.find("wrong") != std::string::npos);
  CHECK(lines[2].text.find("delivered again") != std::string::npos);
}

TEST_CASE("samples that the receiver rejected are lost, the others are delivered") {
  Delivering test;
  PushOutcome partial;
  partial.rejected = 4;
  partial.problem = "some";
  PushOutcome absurd;
  absurd.rejected = 1'000'000;
  test.receiver.answers = {partial, absurd};
  test.add(2);
  test.delivery->start();
  CHECK(happens([&] { return test.counters.dropped == 14; }));
  CHECK(happens([&] { return test.counters.samples == 6; }));
  CHECK(test.counters.failures == 0);
}

TEST_CASE("an exception drops the reading, not the thread") {
  Delivering test;
  test.receiver.throws = true;
  test.add(1);
  test.delivery->start();
  CHECK(happens([&] { return test.counters.dropped == 10; }));
  {
    const std::lock_guard lock(test.receiver.mutex);
    test.receiver.throws = false;
  }
  test.add(1);
  CHECK(happens([&] { return test.counters.samples == 10; }));
}

TEST_CASE("the end waits for no receiver, and says how much was left") {
  Delivering test;
  test.receiver.hangs = true;
  test.add(2);
  test.delivery->start();
  CHECK(happens([&] { return test.receiver.attempts == 1; }));
  test.delivery.reset();  // the test's time limit is shorter than the attempt's
  CHECK(test.log.lines().back().text.find("readings=2") != std::string::npos);
}

TEST_CASE("a start that fails ends the thread before it does anything") {
  Delivering test;
  test.add(1);
  test.delivery.reset();
  CHECK(test.receiver.attempts == 0);
}

TEST_CASE("every interval is one reading, whatever collectors and receivers do") {
  RecordingLog log;
  Receiver receiver;
  receiver.hangs = true;
  PushMetrics metrics;
  PushCounters& counters = metrics.emplace_back("fake");
  std::atomic<int> readings = 0;
  {
    Pusher pusher(
        1ms,
        [&](const std::stop_token&, const auto& use) {
          if (++readings == 3) throw std::runtime_error("no memory");
          if (readings != 4) use(PageView({}));
          return readings != 4;
        },
        log);
    pusher.add(std::make_unique<FakeTarget>(receiver), counters);
    pusher.start();
    CHECK(happens([&] { return readings > 80; }));
    CHECK(happens([&] { return counters.dropped > 0; }));
    CHECK(counters.queue_length == 64);
  }
  CHECK(receiver.attempts == 1);
  const auto lines = log.lines();
  REQUIRE(lines.size() >= 2);
  CHECK(lines[0].text.find("no memory") != std::string::npos);
  CHECK(lines[1].text.find("pushed again") != std::string::npos);
}

TEST_CASE("the metrics of a target") {
  PushMetrics metrics;
  igpu::SampleList none;
  add_push_metrics(metrics, none);
  CHECK(none.samples().empty());
  metrics.emplace_back("otlp").dropped = 3;
  add_push_metrics(metrics, none);
  CHECK(none.samples().size() == 4);
}

TEST_SUITE_END();
