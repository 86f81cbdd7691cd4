// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <map>
#include <string>
#include <thread>

#include "server/self/own_metrics.h"

using namespace igpu;

namespace {

std::map<std::string, double> own_process(const exporter::ProcessMetrics& process = {}) {
  SampleList list;
  process.add_to(list);
  std::map<std::string, double> values;
  for (const SampleList::Sample& sample : list.samples()) values[std::string(sample.metric->name)] = sample.value;
  return values;
}

}  // namespace

TEST_SUITE_BEGIN("process_metrics");

TEST_CASE("all standard metrics are present and plausible") {
  const auto values = own_process();
  CHECK(values.size() == 8);
  CHECK(values.at("process_cpu_seconds_total") > 0);
  CHECK(values.at("process_open_fds") >= 3);
  CHECK(values.at("process_max_fds") >= values.at("process_open_fds"));
  CHECK(values.at("process_resident_memory_bytes") > 1e6);
  CHECK(values.at("process_virtual_memory_bytes") > values.at("process_resident_memory_bytes"));
  CHECK(values.at("process_virtual_memory_max_bytes") > values.at("process_virtual_memory_bytes"));
  CHECK(values.at("process_threads") >= 1);
  const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  CHECK(values.at("process_start_time_seconds") <= now + 1);
  CHECK(values.at("process_start_time_seconds") > now - 3600);
}

TEST_CASE("the values follow the process") {
  std::atomic<bool> go_on = false;
  const auto waits = [&] {
    while (!go_on) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  // A sanitizer starts its own thread with the program's first one. The first one runs until the end, because the
  // kernel counts a thread for a moment after join().
  std::thread first(waits);
  const exporter::ProcessMetrics process;
  const auto before = own_process(process);
  const int file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  std::thread second(waits);
  const auto during = own_process(process);
  go_on = true;
  first.join();
  second.join();
  ::close(file);
  CHECK(during.at("process_open_fds") == before.at("process_open_fds") + 1);
  CHECK(during.at("process_threads") == before.at("process_threads") + 1);
  CHECK(during.at("process_start_time_seconds") == before.at("process_start_time_seconds"));
}

TEST_SUITE_END();
