// SPDX-License-Identifier: Apache-2.0
// What clients and processes that are gone cost: bytes of the heap, until their number no longer counts.
#include <doctest/doctest.h>
#include <malloc.h>

#include <cstdint>
#include <utility>

#include "collector/collectors.h"
#include "support/test_machine.h"

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

// Bytes in use. A sanitizer counts none, and nothing is checked then.
double heap_bytes() { return static_cast<double>(::mallinfo2().uordblks); }

// A GPU whose processes come and go, read by the collectors that remember them.
class Scene {
 public:
  Scene() : collector_(machine_, gpu()) {}

  void begin_scan() {
    machine_.clock.advance(1s);
    snapshot_ = {};
    snapshot_.time = machine_.clock.now();
  }
  // with clients that were not seen before
  void add_process(std::uint32_t pid, int clients) {
    ClientProcess process;
    process.pid = pid;
    process.start_time_ticks = pid;
    process.comm = "encoder";
    snapshot_.processes.push_back(std::move(process));
    snapshot_.pids.push_back(pid);
    for (int i = 0; i < clients; ++i) {
      DrmClient client;
      client.device = gpu().address;
      client.id = ++last_id_;
      client.pid = pid;
      client.time = machine_.clock.now();
      for (ClientEngine& engine : client.engines) engine.busy_ns = 1'000'000;
      snapshot_.clients.push_back(std::move(client));
    }
  }
  void end_scan() { (void)collector_.collect(std::move(snapshot_)); }

 private:
  static Gpu gpu() {
    Gpu gpu;
    gpu.address = "0000:00:02.0";
    gpu.driver = Driver::i915;
    return gpu;
  }

  TestMachine machine_;
  CollectorRun<fdinfo_collector> collector_;
  ClientSnapshot snapshot_;
  std::uint64_t last_id_ = 0;
};

}  // namespace

TEST_SUITE_BEGIN("client memory");

TEST_CASE("a process that opens and closes clients for ever: 0.7 KiB for each of the last 4,096") {
  Scene scene;
  double before = 0, first = 0;
  for (int scan = 0; scan < 1500; ++scan) {
    scene.begin_scan();
    scene.add_process(7, 10);
    scene.end_scan();
    if (scan == 50) before = heap_bytes();
    if (scan == 750) first = heap_bytes();
  }
  CHECK(first - before < 4096 * 900);
  CHECK(heap_bytes() - first < 32'768);
}

TEST_CASE("processes that come and go for ever: 0.2 KiB for each of the last 8,192") {
  Scene scene;
  double before = 0, first = 0;
  for (std::uint32_t scan = 0; scan < 1500; ++scan) {
    scene.begin_scan();
    for (std::uint32_t i = 0; i < 20; ++i) scene.add_process(100 + scan * 20 + i, 1);
    scene.end_scan();
    if (scan == 50) before = heap_bytes();
    if (scan == 750) first = heap_bytes();
  }
  CHECK(first - before < 8192 * 300);
  CHECK(heap_bytes() - first < 8192.0 / 8 * 300);  // they are forgotten by the thousand
}

TEST_SUITE_END();
