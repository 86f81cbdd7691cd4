// SPDX-License-Identifier: Apache-2.0
// Sampling by co_await.
#include <doctest/doctest.h>

#include <coroutine>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "igpu/sampling.h"
#include "support/gpu_tree.h"
#include "support/machine_tree.h"
#include "support/simulated_gpu.h"

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

// A coroutine that begins at once and is destroyed with this object, wherever it waits.
class Task {
 public:
  struct promise_type {
    Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { error = std::current_exception(); }
    std::exception_ptr error;
  };
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  ~Task() {
    if (handle_) handle_.destroy();
  }
  bool done() const { return handle_.done(); }
  std::exception_ptr error() const { return handle_.promise().error; }

 private:
  std::coroutine_handle<promise_type> handle_;
};

Task read_times(SampleTimer& timer, int times, std::vector<Snapshot>& snapshots) {
  for (int i = 0; i < times; ++i) snapshots.push_back(co_await timer.next());
}

}  // namespace

TEST_SUITE_BEGIN("sample coroutine");

TEST_CASE("co_await returns the next reading, again and again") {
  SampleTimer timer(simulated(), 3ms);
  std::vector<Snapshot> snapshots;
  const Task task = read_times(timer, 4, snapshots);
  CHECK_FALSE(task.done());
  timer.run();
  CHECK(task.done());
  CHECK(task.error() == nullptr);
  REQUIRE(snapshots.size() == 4);
  for (std::size_t i = 1; i < snapshots.size(); ++i) CHECK(snapshots[i].monotonic > snapshots[i - 1].monotonic);
  CHECK(snapshots[0].busy(EngineClass::render));
}

TEST_CASE("several coroutines get the same reading") {
  SampleTimer timer(simulated(), 3ms);
  std::vector<Snapshot> first, second;
  const Task one = read_times(timer, 3, first);
  const Task other = read_times(timer, 2, second);
  timer.run();
  REQUIRE(first.size() == 3);
  REQUIRE(second.size() == 2);
  for (std::size_t i = 0; i < second.size(); ++i) CHECK(first[i].monotonic == second[i].monotonic);
}

TEST_CASE("a coroutine that is destroyed while it waits is not resumed") {
  SampleTimer timer(simulated(), 3ms);
  std::vector<Snapshot> kept, dropped;
  const Task task = read_times(timer, 2, kept);
  { const Task gone = read_times(timer, 2, dropped); }
  timer.run();
  CHECK(kept.size() == 2);
  CHECK(dropped.empty());
}

TEST_CASE("when the timer ends, coroutines that wait get SamplingEnded") {
  std::vector<Snapshot> snapshots;
  std::optional<SampleTimer> timer(std::in_place, simulated(), 1h);
  const Task task = read_times(*timer, 1, snapshots);
  timer.reset();
  REQUIRE(task.done());
  REQUIRE(task.error() != nullptr);
  CHECK_THROWS_AS(std::rethrow_exception(task.error()), SamplingEnded);
}

TEST_CASE("a timer that is moved keeps its coroutines") {
  SampleTimer timer(simulated(), 3ms);
  std::vector<Snapshot> snapshots;
  const Task task = read_times(timer, 1, snapshots);
  SampleTimer moved(std::move(timer));
  moved.run();
  CHECK(snapshots.size() == 1);
}

TEST_CASE("what the reading throws comes out of co_await") {
  MachineTree tree;
  for (const char* folder : {"proc", "dev/dri"}) std::filesystem::create_directories(tree.path(folder));
  add_gpu(tree,
          {.pci_path = "pci0000:00/0000:00:02.0", .driver = "i915", .card = "card0", .render_node = "renderD128"});
  GpuOptions options;
  options.sysfs_root = tree.path("sys");
  options.procfs_root = tree.path("proc");
  options.devfs_root = tree.path("dev");
  options.min_window = 1ms;
  SampleTimer timer(Gpu::detect(options), 2ms);
  std::filesystem::remove_all(tree.path("sys/class/drm/card0"));
  std::filesystem::remove_all(tree.path("sys/class/drm/renderD128"));
  std::vector<Snapshot> snapshots;
  const Task task = read_times(timer, 1, snapshots);
  timer.run();
  REQUIRE(task.done());
  CHECK_THROWS_AS(std::rethrow_exception(task.error()), GpuGone);
}

TEST_CASE("run() ends when it is stopped") {
  SampleTimer timer(simulated(), 1h);
  std::vector<Snapshot> snapshots;
  const Task task = read_times(timer, 1, snapshots);
  std::stop_source stop;
  stop.request_stop();
  timer.run(stop.get_token());
  CHECK_FALSE(task.done());
}

TEST_SUITE_END();
