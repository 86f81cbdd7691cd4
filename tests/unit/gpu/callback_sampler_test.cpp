// SPDX-License-Identifier: Apache-2.0
// Sampling by a callback on a thread of the library.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>

#include "igpu/sampling.h"
#include "support/gpu_tree.h"
#include "support/machine_tree.h"
#include "support/sanitizers.h"
#include "support/simulated_gpu.h"

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

// Counts callbacks, and waits for them.
class Counter {
 public:
  void add() {
    ++count_;
    count_.notify_all();
  }
  void wait_for(int count) const {
    for (int seen = count_; seen < count; seen = count_) count_.wait(seen);
  }
  int count() const { return count_; }

 private:
  std::atomic<int> count_{0};
};

std::ptrdiff_t entries(const char* folder) {
  const std::filesystem::directory_iterator files(folder);
  return std::distance(begin(files), end(files));
}

}  // namespace

TEST_SUITE_BEGIN("sampler");

TEST_CASE("the callback gets snapshots, on another thread, until the sampler is destroyed") {
  Counter calls;
  std::atomic<bool> own_thread{false}, with_values{true};
  const auto caller = std::this_thread::get_id();
  {
    Sampler sampler(simulated(), 2ms, [&](const Snapshot& now) {
      if (std::this_thread::get_id() != caller) own_thread = true;
      if (!now.busy(EngineClass::render)) with_values = false;
      calls.add();
    });
    calls.wait_for(5);
    CHECK(sampler.running());
  }
  const int seen = calls.count();
  CHECK(own_thread);
  CHECK(with_values);
  std::this_thread::sleep_for(10ms);
  CHECK(calls.count() == seen);
}

TEST_CASE("a stop token ends it, and so does stop() in the callback") {
  SUBCASE("token") {
    std::stop_source source;
    Counter calls;
    Sampler sampler(
        simulated(), 2ms, [&](const Snapshot&) { calls.add(); }, source.get_token());
    calls.wait_for(1);
    source.request_stop();
    sampler.wait();
    CHECK_FALSE(sampler.running());
    CHECK(sampler.error() == nullptr);
  }
  SUBCASE("a token that was stopped before") {
    std::stop_source source;
    source.request_stop();
    Sampler sampler(
        simulated(), 1h, [](const Snapshot&) {}, source.get_token());
    sampler.wait();
    CHECK_FALSE(sampler.running());
  }
  SUBCASE("stop() in the callback") {
    std::promise<Sampler*> made;
    auto handle = made.get_future().share();
    Sampler sampler(simulated(), 2ms, [&](const Snapshot&) { handle.get()->stop(); });
    made.set_value(&sampler);
    sampler.wait();
    CHECK_FALSE(sampler.running());
  }
  SUBCASE("a long interval does not delay the end") {
    const auto begin = std::chrono::steady_clock::now();
    {
      const Sampler sampler(simulated(), 1h, [](const Snapshot&) {});
    }
    CHECK(std::chrono::steady_clock::now() - begin < 10min);
  }
}

TEST_CASE("a callback may destroy its own sampler: no call follows, and its thread and files are closed") {
  const auto threads = entries("/proc/self/task"), files = entries("/proc/self/fd");
  std::promise<void> made, destroyed;
  int calls = 0;
  auto kept = std::make_shared<int>();
  const std::weak_ptr<int> callback_exists = kept;
  std::unique_ptr<Sampler> sampler;
  sampler = std::make_unique<Sampler>(simulated(), 2ms, [&, kept](const Snapshot& now) {
    made.get_future().wait();
    sampler.reset();
    if (now.busy(EngineClass::render)) ++calls;  // the snapshot is still there
    destroyed.set_value();
  });
  kept.reset();
  made.set_value();
  destroyed.get_future().wait();
  while (!callback_exists.expired() || entries("/proc/self/task") > threads) std::this_thread::sleep_for(1ms);
  CHECK(calls == 1);
  CHECK(entries("/proc/self/fd") == files);
}

TEST_CASE("a callback that waits for its own sampler gets an error instead of waiting for itself") {
  std::promise<Sampler*> made;
  Sampler sampler(simulated(), 2ms, [handle = made.get_future().share()](const Snapshot&) { handle.get()->wait(); });
  made.set_value(&sampler);
  CHECK_THROWS_AS(sampler.wait(), SystemFailure);
}

TEST_CASE("an exception of the callback ends the sampling and stays in the handle") {
  Sampler sampler(simulated(), 2ms, [](const Snapshot&) { throw std::domain_error("of the program"); });
  CHECK_THROWS_WITH_AS(sampler.wait(), "of the program", std::domain_error);
  CHECK_FALSE(sampler.running());
  REQUIRE(sampler.error() != nullptr);
  CHECK_THROWS_AS(std::rethrow_exception(sampler.error()), std::domain_error);
}

TEST_CASE("an error of the reading ends the sampling, too") {
  MachineTree tree;
  for (const char* folder : {"proc", "dev/dri"}) std::filesystem::create_directories(tree.path(folder));
  add_gpu(tree,
          {.pci_path = "pci0000:00/0000:00:02.0", .driver = "i915", .card = "card0", .render_node = "renderD128"});
  GpuOptions options;
  options.sysfs_root = tree.path("sys");
  options.procfs_root = tree.path("proc");
  options.devfs_root = tree.path("dev");
  options.min_window = 1ms;
  Counter calls;
  Sampler sampler(Gpu::detect(options), 2ms, [&](const Snapshot&) { calls.add(); });
  calls.wait_for(1);
  std::filesystem::remove_all(tree.path("sys/class/drm/card0"));
  std::filesystem::remove_all(tree.path("sys/class/drm/renderD128"));
  CHECK_THROWS_AS(sampler.wait(), GpuGone);
}

TEST_CASE("a slow callback misses readings; they are counted and not made up for") {
  Counter calls;
  Sampler sampler(simulated(), 1ms, [&](const Snapshot&) {
    std::this_thread::sleep_for(20ms);
    calls.add();
  });
  calls.wait_for(3);
  sampler.stop();
  sampler.wait();
  CHECK(static_cast<int>(sampler.missed()) >= 10 * (calls.count() - 1));
}

TEST_CASE("wrong arguments are refused") {
  CHECK_THROWS_AS(Sampler(simulated(), 0ms, [](const Snapshot&) {}), InvalidOption);
  CHECK_THROWS_AS(Sampler(simulated(), -1s, [](const Snapshot&) {}), InvalidOption);
  CHECK_THROWS_AS(Sampler(simulated(), 1s, nullptr), InvalidOption);
}

TEST_CASE("its thread takes none of the program's signals") {
  Counter calls;
  static std::atomic<bool> blocked{false};
  Sampler sampler(simulated(), 2ms, [&](const Snapshot&) {
    sigset_t set;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &set);
    blocked =
        ::sigismember(&set, SIGTERM) == 1 && ::sigismember(&set, SIGCHLD) == 1 && ::sigismember(&set, SIGSEGV) == 0;
    calls.add();
  });
  calls.wait_for(1);
  CHECK(blocked);
  sigset_t mine;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &mine);
  CHECK(::sigismember(&mine, SIGTERM) == 0);
}

TEST_CASE("a hundred samplers leave no thread and no descriptor") {
  const auto use = [] {
    Counter calls;
    Sampler sampler(simulated(), 1ms, [&](const Snapshot&) { calls.add(); });
    calls.wait_for(1);
    Sampler moved(std::move(sampler));
    sampler = std::move(moved);
  };
  use();
  const auto descriptors = entries("/proc/self/fd");
  const auto threads = entries("/proc/self/task");
  for (int i = 0; i < 100; ++i) use();
  CHECK(entries("/proc/self/fd") == descriptors);
  // The kernel shows a thread for a moment after it was joined.
  while (entries("/proc/self/task") > threads) std::this_thread::sleep_for(1ms);
}

// Sanitizers do not follow forks of programs with threads: to AddressSanitizer, the stack of a thread that the child
// starts is still the one of the parent's thread at this address.
#ifndef IGPU_SANITIZED
TEST_CASE("a fork in the middle: the parent goes on sampling, and the child ends cleanly and may sample itself") {
  Counter calls;
  Sampler sampler(simulated(), 2ms, [&](const Snapshot&) { calls.add(); });
  calls.wait_for(2);
  for (int i = 0; i < 5; ++i) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      ::alarm(60);
      bool good = !sampler.running() && sampler.error() == nullptr;
      sampler.wait();
      { const Sampler gone(std::move(sampler)); }
      Counter own;
      Sampler again(simulated(), 1ms, [&](const Snapshot&) { own.add(); });
      own.wait_for(2);
      ::_exit(good ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    calls.wait_for(calls.count() + 2);
  }
  CHECK(sampler.running());
}
#endif

TEST_SUITE_END();
