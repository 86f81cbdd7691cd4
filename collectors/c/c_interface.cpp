// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "igpu/c.h"
#include "igpu/gpu.h"
#include "igpu/sampling.h"
#include "igpu/values.h"
#include "igpu/version.h"
#include "igpu/words.h"

namespace {

const std::vector<igpu::FieldName>& field_list() {
  static const std::vector<igpu::FieldName> kNames = igpu::field_names();
  return kNames;
}

const igpu::FieldName* field_at(std::size_t index) noexcept {
  try {
    return index < field_list().size() ? &field_list()[index] : nullptr;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

std::string label_text(const std::vector<igpu::FieldLabel>& labels) {
  std::string text;
  for (const igpu::FieldLabel& label : labels) {
    text.append(text.empty() ? "" : ",").append(label.name).append("=\"");
    for (const char c : label.value) {
      if (c == '\\' || c == '"' || c == '\n') text += '\\';
      text += c == '\n' ? 'n' : c;
    }
    text += '"';
  }
  return text;
}

}  // namespace

// Every function that may throw runs in guarded(), which turns exceptions into results.
struct igpu_gpu {
  igpu::OpenGpu gpu;
};

struct igpu_list {
  std::vector<igpu::Gpu> gpus;
};

struct igpu_snapshot {
  explicit igpu_snapshot(igpu::Snapshot read) : snapshot(std::move(read)) {}

  // The values of a field, with labels as text. Null: there is no such field.
  struct Values {
    igpu::Reading<std::vector<igpu::FieldValue>> rows = igpu::Absent{};
    std::vector<std::string> labels;
  };
  const Values* values(std::string_view name) const;

  igpu::Snapshot snapshot;
  mutable std::mutex mutex;
  mutable std::map<std::string, Values, std::less<>> by_name;  // those that were asked for
};

const igpu_snapshot::Values* igpu_snapshot::values(std::string_view name) const {
  const std::lock_guard lock(mutex);
  if (const auto known = by_name.find(name); known != by_name.end()) return &known->second;
  const auto& names = field_list();
  if (std::ranges::none_of(names, [&](const igpu::FieldName& one) { return one.name == name; })) return nullptr;
  Values made{igpu::values(snapshot, name), {}};
  if (made.rows)
    for (const igpu::FieldValue& row : *made.rows) made.labels.push_back(label_text(row.labels));
  return &by_name.emplace(name, std::move(made)).first->second;
}

struct igpu_timer {
  igpu::SampleTimer timer;
};

struct igpu_sampler {
  // Also the callback's, which may close the sampler.
  struct Shared {
    std::atomic<bool> started{false};  // the handle is complete: the callback may use it
    std::atomic<int> returned{0};
    std::stop_source stop;
  };
  std::shared_ptr<Shared> shared = std::make_shared<Shared>();
  std::optional<igpu::Sampler> sampler;
};

namespace {

using namespace igpu;

void copy(char* to, std::size_t size, std::string_view text) {
  const std::size_t length = std::min(text.size(), size - 1);
  std::copy_n(text.data(), length, to);
  to[length] = '\0';
}

int fail(igpu_error* error, int code, std::string_view message, std::string_view hint = "") {
  if (error != nullptr && error->size >= sizeof(igpu_error)) {
    error->code = code;
    copy(error->message, sizeof(error->message), message);
    copy(error->hint, sizeof(error->hint), hint);
  }
  return code;
}

// The exception that is being handled, as a result.
int fail(igpu_error* error) {
  try {
    throw;
  } catch (const NoGpu& e) {
    return fail(error, -ENODEV, e.what(), e.hint());
  } catch (const GpuGone& e) {
    return fail(error, -ENODEV, e.what(), e.hint());
  } catch (const NoSuchGpu& e) {
    return fail(error, -ENOENT, e.what(), e.hint());
  } catch (const InvalidOption& e) {
    return fail(error, -EINVAL, e.what(), e.hint());
  } catch (const SystemFailure& e) {
    return fail(error, e.code().value() > 0 ? -e.code().value() : -EIO, e.what(), e.hint());
  } catch (const SamplingEnded& e) {
    return fail(error, -ECANCELED, e.what(), e.hint());
  } catch (const std::system_error& e) {
    return fail(error, e.code().value() > 0 ? -e.code().value() : -EIO, e.what());
  } catch (const std::bad_alloc&) {
    return fail(error, -ENOMEM, "no memory");
  } catch (const std::exception& e) {
    return fail(error, -EIO, e.what());
  } catch (...) {
    return fail(error, -EIO, "an unknown exception");
  }
}

template <class F>
int guarded(igpu_error* error, F&& call) {
  try {
    return call();
  } catch (...) {
    return fail(error);
  }
}

int invalid(igpu_error* error) { return fail(error, -EINVAL, "an argument is NULL or invalid"); }

// Members that the caller's struct has.
template <class T, class Member>
const Member* member(const T* options, Member T::*field) {
  if (options == nullptr) return nullptr;
  const auto* at = &(options->*field);
  const auto end = reinterpret_cast<std::uintptr_t>(at) + sizeof(Member) - reinterpret_cast<std::uintptr_t>(options);
  return end <= options->size ? at : nullptr;
}

// Throws InvalidOption.
GpuOptions to_options(const igpu_options* given) {
  GpuOptions options;
  // A forgotten IGPU_INIT would select the real machine in place of what the members say.
  if (given != nullptr && given->size < sizeof(std::size_t))
    throw InvalidOption("igpu_options has no size", "IGPU_INIT sets it");
  const auto text = [&](const char* igpu_options::*field, std::string& to) {
    if (const auto* value = member(given, field); value != nullptr && *value != nullptr) to = *value;
  };
  text(&igpu_options::sysfs_root, options.sysfs_root);
  text(&igpu_options::procfs_root, options.procfs_root);
  text(&igpu_options::devfs_root, options.devfs_root);
  text(&igpu_options::simulate, options.simulate);
  std::string left_out;
  text(&igpu_options::without_collectors, left_out);
  for (std::string_view rest = left_out; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    if (comma > 0) options.without_collectors.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  if (const auto* window = member(given, &igpu_options::min_window_ns); window != nullptr && *window != 0)
    options.min_window = Nanoseconds(static_cast<Nanoseconds::rep>(std::min<std::uint64_t>(*window, INT64_MAX)));
  if (const auto* without = member(given, &igpu_options::without_processes); without != nullptr && *without != 0)
    options.processes = false;
  return options;
}

// Fills the part of the caller's struct that it knows.
template <class Row>
int give(const Row& filled, Row* row) {
  const std::size_t size = row->size;
  if (size < sizeof(std::size_t)) return -EINVAL;
  std::memcpy(row, &filled, std::min(size, sizeof(Row)));
  row->size = size;
  return 0;
}

igpu_state state_of(const Absent& absent) {
  switch (absent.reason) {
    case Reason::permission: return IGPU_NO_PERMISSION;
    case Reason::kernel: return IGPU_NOT_IN_KERNEL;
    case Reason::hardware: return IGPU_NOT_IN_HARDWARE;
    case Reason::suspended: return IGPU_SUSPENDED;
    case Reason::disabled: return IGPU_DISABLED;
  }
  return IGPU_NOT_IN_KERNEL;
}

double number(double value) { return value; }
double number(Unit) { return 1; }

template <class T>
igpu_state state_of(const Reading<T>& reading) {
  if (reading) return IGPU_OK;
  return reading.is_absent() ? state_of(reading.absent()) : IGPU_FAILED;
}

template <class T>
igpu_value value_of(const Reading<T>& reading) {
  if (reading) return {number(*reading), IGPU_OK, 0};
  const int os_error = reading.is_absent() ? reading.absent().os_error : reading.failure().code.value();
  return {std::nan(""), state_of(reading), os_error};
}

void describe(const Gpu& gpu, igpu_gpu_info& info) {
  info.address = gpu.address.c_str();
  info.card = gpu.card.c_str();
  info.render_node = gpu.render_node.c_str();
  info.driver = to_string(gpu.driver);
  info.kind = to_string(gpu.kind);
  info.name = gpu.name.c_str();
  info.device_id = gpu.device_id;
  info.revision = gpu.revision ? *gpu.revision : -1;
  info.numa_node = gpu.numa_node;
  info.virtual_function = gpu.virtual_function ? 1 : 0;
}

}  // namespace

extern "C" {

const char* igpu_version(void) { return build::kVersion.data(); }

int igpu_list_gpus(const igpu_options* options, igpu_list** list, igpu_error* error) {
  if (list == nullptr) return invalid(error);
  return guarded(error, [&] {
    *list = new igpu_list{Gpu::list(to_options(options))};
    return 0;
  });
}

size_t igpu_list_count(const igpu_list* list) { return list == nullptr ? 0 : list->gpus.size(); }

int igpu_list_at(const igpu_list* list, size_t index, igpu_gpu_info* info) {
  if (list == nullptr || info == nullptr) return -EINVAL;
  if (index >= list->gpus.size()) return -ENOENT;
  igpu_gpu_info filled{};
  describe(list->gpus[index], filled);
  return give(filled, info);
}

void igpu_list_free(igpu_list* list) { delete list; }

int igpu_open(const char* name, const igpu_options* options, igpu_gpu** gpu, igpu_error* error) {
  if (gpu == nullptr) return invalid(error);
  return guarded(error, [&] {
    const GpuOptions chosen = to_options(options);
    *gpu = new igpu_gpu{name == nullptr ? Gpu::detect(chosen) : Gpu::open(name, chosen)};
    return 0;
  });
}

void igpu_close(igpu_gpu* gpu) { delete gpu; }

int igpu_read(igpu_gpu* gpu, igpu_snapshot** snapshot, igpu_error* error) {
  if (gpu == nullptr || snapshot == nullptr) return invalid(error);
  return guarded(error, [&] {
    *snapshot = new igpu_snapshot(gpu->gpu.read());
    return 0;
  });
}

void igpu_snapshot_free(igpu_snapshot* snapshot) { delete snapshot; }

int igpu_summary_of(const igpu_snapshot* snapshot, igpu_summary* summary) {
  if (snapshot == nullptr || summary == nullptr) return -EINVAL;
  const Snapshot& from = snapshot->snapshot;
  igpu_summary filled{};
  filled.time_ns = std::chrono::duration_cast<Nanoseconds>(from.time.time_since_epoch()).count();
  filled.monotonic_ns = from.monotonic.count();
  filled.other_users = value_of(from.other_users);
  return give(filled, summary);
}

int igpu_gpu_of(const igpu_snapshot* snapshot, igpu_gpu_info* info) {
  if (snapshot == nullptr || info == nullptr) return -EINVAL;
  igpu_gpu_info filled{};
  describe(snapshot->snapshot.gpu, filled);
  return give(filled, info);
}

igpu_value igpu_get(const igpu_snapshot* snapshot, const char* name) {
  igpu_value found{std::nan(""), IGPU_FAILED, 0};
  if (snapshot == nullptr || name == nullptr) return found;
  const int result = guarded(nullptr, [&] {
    found = value_of(value(snapshot->snapshot, name));
    return 0;
  });
  if (result == -EINVAL) found.state = IGPU_NO_SUCH_NAME;
  return found;
}

igpu_state igpu_feature_count(const igpu_snapshot* snapshot, size_t* count) {
  const bool known = snapshot != nullptr && snapshot->snapshot.features;
  if (count != nullptr) *count = known ? snapshot->snapshot.features->size() : 0;
  return known ? IGPU_OK : IGPU_FAILED;
}

int igpu_feature_at(const igpu_snapshot* snapshot, size_t index, igpu_feature* row) {
  if (snapshot == nullptr || row == nullptr) return -EINVAL;
  if (!snapshot->snapshot.features || index >= snapshot->snapshot.features->size()) return -ENOENT;
  const FeatureState& from = (*snapshot->snapshot.features)[index];
  igpu_feature filled{};
  filled.name = from.name.c_str();
  filled.state = from.available ? IGPU_OK : state_of(from.absent);
  filled.os_error = from.available ? 0 : from.absent.os_error;
  filled.cause = from.cause.c_str();
  filled.hint = from.hint.c_str();
  return give(filled, row);
}

// The names are literals, so they end with a NUL.
const char* igpu_field_name(size_t index) {
  const igpu::FieldName* const field = field_at(index);
  return field == nullptr ? nullptr : field->name.data();
}

const char* igpu_field_unit(size_t index) {
  const igpu::FieldName* const field = field_at(index);
  if (field == nullptr) return nullptr;
  return field->unit.empty() ? "" : field->unit.data();
}

igpu_state igpu_field_count(const igpu_snapshot* snapshot, const char* name, size_t* count) {
  if (count != nullptr) *count = 0;
  if (snapshot == nullptr || name == nullptr) return IGPU_FAILED;
  igpu_state state = IGPU_FAILED;
  (void)guarded(nullptr, [&] {
    const auto* values = snapshot->values(name);
    if (values == nullptr) return -EINVAL;
    if (count != nullptr && values->rows) *count = values->rows->size();
    state = state_of(values->rows);
    return 0;
  });
  return state;
}

int igpu_field_at(const igpu_snapshot* snapshot, const char* name, size_t index, igpu_field* row) {
  if (snapshot == nullptr || name == nullptr || row == nullptr) return -EINVAL;
  return guarded(nullptr, [&] {
    const auto* values = snapshot->values(name);
    if (values == nullptr) return -EINVAL;
    if (!values->rows || index >= values->rows->size()) return -ENOENT;
    const igpu_field filled{sizeof(igpu_field), values->labels[index].c_str(), value_of((*values->rows)[index].value)};
    return give(filled, row);
  });
}

int igpu_timer_open(igpu_gpu* gpu, uint64_t interval_ns, igpu_timer** timer, igpu_error* error) {
  const std::unique_ptr<igpu_gpu> taken(gpu);
  if (gpu == nullptr || timer == nullptr || interval_ns > INT64_MAX) return invalid(error);
  return guarded(error, [&] {
    const Nanoseconds interval(static_cast<Nanoseconds::rep>(interval_ns));
    *timer = new igpu_timer{SampleTimer(std::move(taken->gpu), interval)};
    return 0;
  });
}

int igpu_timer_descriptor(const igpu_timer* timer) { return timer == nullptr ? -EINVAL : timer->timer.descriptor(); }

int igpu_timer_read(igpu_timer* timer, igpu_snapshot** snapshot, igpu_error* error) {
  if (timer == nullptr || snapshot == nullptr) return invalid(error);
  return guarded(error, [&] {
    std::optional<Snapshot> read = timer->timer.read();
    if (!read) return fail(error, -EAGAIN, "no reading is due");
    *snapshot = new igpu_snapshot(std::move(*read));
    return 0;
  });
}

uint64_t igpu_timer_missed(const igpu_timer* timer) { return timer == nullptr ? 0 : timer->timer.missed(); }
void igpu_timer_close(igpu_timer* timer) { delete timer; }

int igpu_sampler_start(igpu_gpu* gpu, uint64_t interval_ns, igpu_callback callback, void* user, igpu_sampler** sampler,
                       igpu_error* error) {
  const std::unique_ptr<igpu_gpu> taken(gpu);
  if (gpu == nullptr || callback == nullptr || sampler == nullptr || interval_ns > INT64_MAX) return invalid(error);
  *sampler = nullptr;
  return guarded(error, [&] {
    auto made = std::make_unique<igpu_sampler>();
    const Nanoseconds interval(static_cast<Nanoseconds::rep>(interval_ns));
    const auto call = [shared = made->shared, callback, user](const Snapshot& snapshot) {
      shared->started.wait(false);
      const igpu_snapshot now(snapshot);
      const int returned = callback(&now, user);
      if (returned == 0) return;
      shared->returned = returned;
      shared->stop.request_stop();
    };
    const std::shared_ptr<igpu_sampler::Shared> shared = made->shared;
    made->sampler.emplace(std::move(taken->gpu), interval, call, shared->stop.get_token());
    *sampler = made.release();
    shared->started = true;
    shared->started.notify_all();
    return 0;
  });
}

int igpu_sampler_running(const igpu_sampler* sampler) {
  return sampler != nullptr && sampler->sampler->running() ? 1 : 0;
}

int igpu_sampler_wait(igpu_sampler* sampler, igpu_error* error) {
  if (sampler == nullptr) return invalid(error);
  return guarded(error, [&] {
    sampler->sampler->wait();
    return sampler->shared->returned.load();
  });
}

void igpu_sampler_stop(igpu_sampler* sampler) {
  if (sampler != nullptr) sampler->shared->stop.request_stop();
}
void igpu_sampler_close(igpu_sampler* sampler) { delete sampler; }

}  // extern "C"
