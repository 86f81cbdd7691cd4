// SPDX-License-Identifier: Apache-2.0
// The C interface: results, rows, structs of another size, sampling.
#include <doctest/doctest.h>
#include <poll.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "igpu/c.h"
#include "igpu/gpu.h"

namespace {

igpu_options simulated(const char* profile) {
  igpu_options options = IGPU_INIT(igpu_options);
  options.simulate = profile;
  options.min_window_ns = 1'000'000;
  return options;
}

// An open GPU and one reading of it.
struct Scene {
  explicit Scene(const char* profile, const char* name = nullptr) {
    const igpu_options options = simulated(profile);
    igpu_error error = IGPU_INIT(igpu_error);
    REQUIRE(igpu_open(name, &options, &gpu, &error) == 0);
    REQUIRE(igpu_read(gpu, &now, &error) == 0);
  }
  ~Scene() {
    igpu_snapshot_free(now);
    igpu_close(gpu);
  }
  igpu_gpu* gpu = nullptr;
  igpu_snapshot* now = nullptr;
};

bool readable(int descriptor) {
  pollfd file{descriptor, POLLIN, 0};
  return ::poll(&file, 1, 60'000) == 1;
}

}  // namespace

TEST_SUITE_BEGIN("c interface");

TEST_CASE("GPUs are listed as the C++ interface lists them") {
  const igpu_options options = simulated("rack");
  igpu_list* list = nullptr;
  REQUIRE(igpu_list_gpus(&options, &list, nullptr) == 0);
  igpu::GpuOptions same;
  same.simulate = "rack";
  const std::vector<igpu::Gpu> gpus = igpu::Gpu::list(same);
  REQUIRE(igpu_list_count(list) == gpus.size());
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    igpu_gpu_info info = IGPU_INIT(igpu_gpu_info);
    REQUIRE(igpu_list_at(list, i, &info) == 0);
    CHECK(info.address == gpus[i].address);
    CHECK(info.card == gpus[i].card);
    CHECK(info.render_node == gpus[i].render_node);
    CHECK(std::string(info.driver) == igpu::to_string(gpus[i].driver));
    CHECK(std::string(info.kind) == igpu::to_string(gpus[i].kind));
    CHECK(info.name == gpus[i].name);
    CHECK(info.device_id == gpus[i].device_id);
  }
  igpu_gpu_info info = IGPU_INIT(igpu_gpu_info);
  CHECK(igpu_list_at(list, gpus.size(), &info) == -ENOENT);
  igpu_list_free(list);
}

TEST_CASE("errors are negative numbers with a message and a hint") {
  igpu_error error = IGPU_INIT(igpu_error);
  igpu_gpu* gpu = nullptr;
  igpu_options options = simulated("rack");
  CHECK(igpu_open("card77", &options, &gpu, &error) == -ENOENT);
  CHECK(error.code == -ENOENT);
  CHECK(std::string(error.message) == "there is no Intel GPU \"card77\"");
  CHECK(std::string(error.hint).find("0000:00:02.0") != std::string::npos);
  CHECK(igpu_open("card77", &options, &gpu, nullptr) == -ENOENT);
  options = simulated("nonsense");
  CHECK(igpu_open(nullptr, &options, &gpu, &error) == -EINVAL);
  options = simulated("rack");
  options.without_collectors = "rc6,nonsense";
  CHECK(igpu_open(nullptr, &options, &gpu, &error) == -EINVAL);
  CHECK(igpu_open(nullptr, nullptr, nullptr, &error) == -EINVAL);
  CHECK(igpu_read(nullptr, nullptr, &error) == -EINVAL);
  CHECK(gpu == nullptr);
  igpu_close(nullptr);
  igpu_snapshot_free(nullptr);
  igpu_list_free(nullptr);
  igpu_timer_close(nullptr);
  igpu_sampler_close(nullptr);
}

TEST_CASE("values and their absence") {
  const Scene locked("locked");
  const igpu_value missing = igpu_get(locked.now, "engine.render.busy");
  CHECK(missing.state == IGPU_NO_PERMISSION);
  CHECK(std::isnan(missing.value));
  CHECK(missing.os_error != 0);
  std::size_t count = 7;
  CHECK(igpu_field_count(locked.now, "memory.size", &count) == IGPU_NO_PERMISSION);
  CHECK(count == 0);
  std::size_t features = 0;
  REQUIRE(igpu_feature_count(locked.now, &features) == IGPU_OK);
  std::size_t with_hint = 0;
  for (std::size_t i = 0; i < features; ++i) {
    igpu_feature feature = IGPU_INIT(igpu_feature);
    REQUIRE(igpu_feature_at(locked.now, i, &feature) == 0);
    with_hint += feature.state == IGPU_NO_PERMISSION && *feature.hint != '\0';
  }
  CHECK(with_hint >= 4);
  igpu_feature feature = IGPU_INIT(igpu_feature);
  CHECK(igpu_feature_at(locked.now, features, &feature) == -ENOENT);
  CHECK(igpu_feature_at(locked.now, 0, nullptr) == -EINVAL);

  const Scene open("rack", "0000:00:02.0");
  CHECK(igpu_get(open.now, "engine.video.busy").state == IGPU_OK);
  CHECK(igpu_get(open.now, "frequency.actual").value >= 0);
  CHECK(igpu_get(open.now, "frequency.9.actual").state == IGPU_NOT_IN_HARDWARE);
  CHECK(igpu_get(open.now, "power.mean").value == igpu_get(open.now, "power.gpu.mean").value);
  CHECK(igpu_get(open.now, "power.package.mean").value > igpu_get(open.now, "power.mean").value);
  CHECK(igpu_get(open.now, "temperature.value").value > 0);
  CHECK(igpu_get(open.now, "temperature.nonsense.value").state == IGPU_NO_SUCH_NAME);
  CHECK(igpu_get(open.now, "gpu.wedged").state == IGPU_NO_SUCH_NAME);  // only a page has it
  CHECK(igpu_get(open.now, nullptr).state == IGPU_FAILED);
  CHECK(igpu_get(open.now, "gpu.suspended").value == 0);
  igpu_summary summary = IGPU_INIT(igpu_summary);
  REQUIRE(igpu_summary_of(open.now, &summary) == 0);
  CHECK(summary.time_ns > 0);
}

TEST_CASE("every value has rows on some simulated GPU") {
  std::map<std::string, std::size_t> seen;
  const auto walk = [&](const Scene& scene) {
    for (std::size_t i = 0; const char* name = igpu_field_name(i); ++i) {
      std::size_t count = 0;
      const igpu_state state = igpu_field_count(scene.now, name, &count);
      CHECK_MESSAGE((state == IGPU_OK) == (count > 0), name);
      for (std::size_t row = 0; row < count; ++row) {
        igpu_field field = IGPU_INIT(igpu_field);
        CHECK(igpu_field_at(scene.now, name, row, &field) == 0);
        seen[name] += field.value.state == IGPU_OK;
      }
      CHECK(igpu_field_at(scene.now, name, 0, nullptr) == -EINVAL);
      seen[name] += 0;
    }
  };
  for (const char* gpu : {"0000:00:02.0", "0000:03:00.0", "0000:07:00.0"}) walk(Scene("rack", gpu));
  for (const auto& field : seen)
    CHECK_MESSAGE((field.second > 0 || field.first == "bandwidth.rate"), field.first);  // needs two readings
}

TEST_CASE("texts of a process and of a throttled GT are labels, as in a page of metrics") {
  const Scene scene("rack");
  igpu_field row = IGPU_INIT(igpu_field);
  REQUIRE(igpu_field_at(scene.now, "process", 0, &row) == 0);
  for (const char* label :
       {"pid=\"", "comm=\"", "user=\"", "cgroup=\"", "container_id=\"", "pod_uid=\"", "systemd_unit=\""})
    CHECK_MESSAGE(std::string(row.labels).find(label) != std::string::npos, row.labels);
  CHECK(row.value.value == 1);
  REQUIRE(igpu_field_at(scene.now, "throttling.reasons", 0, &row) == 0);
  CHECK(std::string(row.labels).find("reason=\"any\"") != std::string::npos);
}

TEST_CASE("a program built with smaller structs gets only those, one with larger ones keeps the rest as it was") {
  const Scene scene("rack");
  struct {
    igpu_feature row;
    unsigned char beyond[32];
  } memory;
  std::memset(&memory, 0x5a, sizeof(memory));
  memory.row.size = offsetof(igpu_feature, os_error);
  REQUIRE(igpu_feature_at(scene.now, 0, &memory.row) == 0);
  CHECK(memory.row.size == offsetof(igpu_feature, os_error));
  CHECK(memory.row.os_error == 0x5a5a5a5a);

  std::memset(&memory, 0, sizeof(memory));
  memory.row.size = sizeof(memory);
  REQUIRE(igpu_feature_at(scene.now, 0, &memory.row) == 0);
  for (const unsigned char byte : memory.beyond) CHECK(byte == 0);

  memory.row.size = 0;  // forgotten
  CHECK(igpu_feature_at(scene.now, 0, &memory.row) == -EINVAL);

  igpu_options options = simulated("rack");
  options.size = offsetof(igpu_options, without_collectors);  // of an older program
  options.without_collectors = "nonsense";
  igpu_gpu* gpu = nullptr;
  REQUIRE(igpu_open(nullptr, &options, &gpu, nullptr) == 0);
  igpu_close(gpu);
}

TEST_CASE("a timer is readable when a reading is due") {
  const igpu_options options = simulated("rack");
  igpu_gpu* gpu = nullptr;
  REQUIRE(igpu_open(nullptr, &options, &gpu, nullptr) == 0);
  igpu_timer* timer = nullptr;
  REQUIRE(igpu_timer_open(gpu, 5'000'000, &timer, nullptr) == 0);
  igpu_snapshot* now = nullptr;
  for (int i = 0; i < 3; ++i) {
    REQUIRE(readable(igpu_timer_descriptor(timer)));
    REQUIRE(igpu_timer_read(timer, &now, nullptr) == 0);
    CHECK(igpu_get(now, "engine.render.busy").state == IGPU_OK);
    igpu_snapshot_free(now);
  }
  igpu_timer_close(timer);

  REQUIRE(igpu_open(nullptr, &options, &gpu, nullptr) == 0);
  REQUIRE(igpu_timer_open(gpu, 3'600'000'000'000, &timer, nullptr) == 0);
  CHECK(igpu_timer_read(timer, &now, nullptr) == -EAGAIN);
  igpu_timer_close(timer);

  igpu_error error = IGPU_INIT(igpu_error);
  REQUIRE(igpu_open(nullptr, &options, &gpu, nullptr) == 0);
  CHECK(igpu_timer_open(gpu, 0, &timer, &error) == -EINVAL);
  CHECK(std::string(error.message).find("millisecond") != std::string::npos);
}

TEST_CASE("in its callback, a sampler can be closed and is not waited for") {
  struct Handle {
    igpu_sampler* sampler = nullptr;
    std::atomic<int> waited{1};  // 1: not yet
  } handle;
  const auto callback = [](const igpu_snapshot*, void* user) {
    auto& own = *static_cast<Handle*>(user);
    const int result = igpu_sampler_wait(own.sampler, nullptr);
    igpu_sampler_close(own.sampler);
    own.waited = result;
    return 42;
  };
  const igpu_options options = simulated("rack");
  igpu_gpu* gpu = nullptr;
  REQUIRE(igpu_open(nullptr, &options, &gpu, nullptr) == 0);
  REQUIRE(igpu_sampler_start(gpu, 2'000'000, callback, &handle, &handle.sampler, nullptr) == 0);
  while (handle.waited == 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(handle.waited == -EDEADLK);
}

TEST_CASE("options without a size, and a window of more than a day, are refused") {
  igpu_gpu* gpu = nullptr;
  igpu_options options{};
  options.simulate = "rack";
  igpu_error error = IGPU_INIT(igpu_error);
  CHECK(igpu_open(nullptr, &options, &gpu, &error) == -EINVAL);
  CHECK(std::string(error.message) == "igpu_options has no size");
  options.size = sizeof(options);
  options.min_window_ns = UINT64_MAX;
  CHECK(igpu_open(nullptr, &options, &gpu, &error) == -EINVAL);
  CHECK(std::string(error.message) == "min_window is a day or less");
}

TEST_CASE("a sampler calls back until the callback says so") {
  const igpu_options options = simulated("rack");
  igpu_gpu* gpu = nullptr;
  REQUIRE(igpu_open(nullptr, &options, &gpu, nullptr) == 0);
  std::atomic<int> calls{0};
  igpu_sampler* sampler = nullptr;
  const igpu_callback callback = [](const igpu_snapshot* now, void* user) {
    auto& count = *static_cast<std::atomic<int>*>(user);
    if (igpu_get(now, "engine.render.busy").state != IGPU_OK) return -1;
    return ++count == 3 ? 42 : 0;
  };
  REQUIRE(igpu_sampler_start(gpu, 2'000'000, callback, &calls, &sampler, nullptr) == 0);
  CHECK(igpu_sampler_wait(sampler, nullptr) == 42);
  CHECK(igpu_sampler_running(sampler) == 0);
  CHECK(calls == 3);
  igpu_sampler_close(sampler);

  REQUIRE(igpu_open(nullptr, &options, &gpu, nullptr) == 0);
  const igpu_callback endless = [](const igpu_snapshot*, void*) { return 0; };
  REQUIRE(igpu_sampler_start(gpu, 2'000'000, endless, nullptr, &sampler, nullptr) == 0);
  CHECK(igpu_sampler_running(sampler) == 1);
  igpu_sampler_stop(sampler);
  CHECK(igpu_sampler_wait(sampler, nullptr) == 0);
  igpu_sampler_close(sampler);

  // A callback that stops its own sampler: the handle is set before the first call.
  REQUIRE(igpu_open(nullptr, &options, &gpu, nullptr) == 0);
  const igpu_callback once = [](const igpu_snapshot*, void* user) {
    igpu_sampler_stop(*static_cast<igpu_sampler**>(user));
    return 0;
  };
  sampler = nullptr;
  REQUIRE(igpu_sampler_start(gpu, 2'000'000, once, &sampler, &sampler, nullptr) == 0);
  CHECK(igpu_sampler_wait(sampler, nullptr) == 0);
  igpu_sampler_close(sampler);

  igpu_error error = IGPU_INIT(igpu_error);
  REQUIRE(igpu_open(nullptr, &options, &gpu, nullptr) == 0);
  CHECK(igpu_sampler_start(gpu, 0, once, &sampler, &sampler, &error) == -EINVAL);
  CHECK(sampler == nullptr);
}

TEST_CASE("every field that is listed can be read, and others are refused") {
  const Scene scene("rack");
  std::size_t names = 0;
  for (; const char* name = igpu_field_name(names); ++names) {
    CAPTURE(name);
    CHECK(igpu_field_unit(names) != nullptr);
    std::size_t count = 0;
    CHECK(igpu_field_count(scene.now, name, &count) != IGPU_FAILED);
    igpu_field row = IGPU_INIT(igpu_field);
    CHECK(igpu_field_at(scene.now, name, count, &row) == -ENOENT);
  }
  CHECK(names > 40);
  CHECK(igpu_field_unit(names) == nullptr);
  std::size_t count = 1;
  CHECK(igpu_field_count(scene.now, "engine.bussy", &count) == IGPU_FAILED);
  CHECK(count == 0);
  igpu_field row = IGPU_INIT(igpu_field);
  CHECK(igpu_field_at(scene.now, "engine.bussy", 0, &row) == -EINVAL);
  CHECK(igpu_field_at(scene.now, nullptr, 0, &row) == -EINVAL);
  CHECK(igpu_field_at(nullptr, "engine.busy", 0, &row) == -EINVAL);
}

TEST_CASE("a field without rows says why") {
  const Scene scene("asleep");
  std::size_t count = 1;
  CHECK(igpu_field_count(scene.now, "engine.busy", &count) == IGPU_SUSPENDED);
  CHECK(count == 0);
}

TEST_SUITE_END();
