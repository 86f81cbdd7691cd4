// SPDX-License-Identifier: Apache-2.0
// What makes this library a layer of the Level Zero loader: it loads it under the name of the validation layer and asks
// it to change every table of driver functions before the program sees it.
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cstdint>

#include "level_zero/tracker/api_table.h"
#include "level_zero/tracker/own_process.h"
#include "level_zero/tracker/shared_word.h"

namespace igpu::level_zero {
namespace {

// The functions that stand in for the driver's, one for each row of api_table.inc.

// A function that replaces the driver's, and the place where it finds the driver's function.
struct Hook {
  void* function;
  void** next;
};

// The hook for a function that a driver returns by name. Its function is null if it is not tracked, or if too many
// drivers have it.
Hook extension_hook(const char* name, void* driver_function);

// Parameters as the calling convention sees them. So the tracker compiles without Level Zero headers, and knows
// functions that are younger than those of the machine that built it.
using Word = std::uintptr_t;
struct Block64 {
  char bytes[64];
};
struct Triple {
  std::uint32_t x, y, z;
};
using Result = std::uint32_t;

constexpr Result kSuccess = 0;

// Below the first error are success and "not ready"; among the errors stand three that are none.
bool is_error(Result result) {
  constexpr Result kFirstError = 0x70000000;
  constexpr Result kDroppedData = 0x70020001;
  constexpr Result kActionRequired = 0x7800001b;
  constexpr Result kBuildDeferred = 0x7ff00006;
  return result >= kFirstError && result != kDroppedData && result != kActionRequired && result != kBuildDeferred;
}

struct Role {
  Act act;
  std::uint64_t kinds;
  Kind kind;
  int handle, size;
  Kind second_kind;
  int second;
};

template <int index, class First, class... Rest>
Word pick(First first, Rest... rest) {
  if constexpr (index == 0)
    return first;
  else
    return pick<index - 1>(rest...);
}

// What a driver wrote through an out parameter; 0 where the caller did not ask for it.
std::uint64_t written(Word out) { return out == 0 ? 0 : *reinterpret_cast<const std::uint64_t*>(out); }

template <std::uint32_t id>
struct RoleOf;
enum class Function : std::uint32_t {
#define LEVEL_ZERO_FUNCTION(name, ...) name,
#include "level_zero/tracker/api_table.inc"
#undef LEVEL_ZERO_FUNCTION
};

// instance 0 stands in the loader's tables; the others are handed out by name, one for each driver that has it.
constexpr std::uint32_t kInstances = 3;

template <std::uint32_t id, std::uint32_t instance, class... Parameters>
struct Stub {
  static inline void* next;
  static constexpr Role kRole = RoleOf<id>::kValue;

  static Result call(Parameters... parameters) {
    const auto driver = reinterpret_cast<Result (*)(Parameters...)>(load(next));
    std::uint32_t entry = kNoEntry;
    const OwnProcess* before = nullptr;
    if constexpr (kRole.act == Act::destroy) {
      if (OwnProcess* process = OwnProcess::current(); process != nullptr)
        entry = process->take(pick<kRole.handle>(parameters...), kRole.kinds);
      before = OwnProcess::current();
    }
    const bool logged = __builtin_expect(load(logging) != 0, false);
    ProcessMemory memory = {};
    if (logged)
      if (const OwnProcess* process = OwnProcess::current(); process != nullptr) memory = process->memory_before();
    const Result result = driver(parameters...);
    OwnProcess* process = OwnProcess::current();  // a driver that forks returns twice
    if (process == nullptr) return result;
    process->count_call(id, is_error(result));
    if constexpr (kRole.act == Act::create) {
      const Caller caller = {reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)),
                             reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) + sizeof(void*)};
      created(*process, result, caller, parameters...);
    }
    if constexpr (kRole.act == Act::destroy) {
      if (process == before) destroyed(*process, result, entry, pick<kRole.handle>(parameters...));
    }
    if constexpr (kRole.act == Act::extension) {
      if (result == kSuccess) wrap(pick<1>(parameters...), pick<2>(parameters...));
    }
    if (logged) process->log_call(id, result, handle(parameters...), memory);
    return result;
  }

  // For the log: what was created or destroyed; the command list of an append.
  static std::uint64_t handle(Parameters... parameters) {
    if constexpr (kRole.act == Act::create) return written(pick<kRole.handle>(parameters...));
    if constexpr (kRole.act == Act::destroy) return pick<kRole.handle>(parameters...);
    return pick<0>(parameters...);
  }

  static void created(OwnProcess& process, Result result, const Caller& caller, Parameters... parameters) {
    const Word out = pick<kRole.handle>(parameters...);
    if (out == 0) return;  // a link log that nobody asked for
    if (result != kSuccess) {
      process.count_failed_create(kRole.kind);
      return;
    }
    Created resource = {kRole.kind, id, written(out), 0, pick<0>(parameters...)};
    if constexpr (kRole.size >= 0) resource.bytes = pick<kRole.size>(parameters...);
    process.created(resource, caller);
    if constexpr (kRole.second >= 0) {
      const std::uint64_t second = written(pick<kRole.second>(parameters...));
      if (second != 0) process.created({kRole.second_kind, id, second, 0, pick<0>(parameters...)}, caller);
    }
  }

  static void destroyed(OwnProcess& process, Result result, std::uint32_t entry, Word handle) {
    if (result == kSuccess) {
      if (handle != 0) process.destroyed(entry);  // freeing nothing is allowed
    } else if (entry != kNoEntry) {
      process.not_destroyed(entry);
    }
  }

  static void wrap(Word name, Word place) {
    if (name == 0 || place == 0) return;
    auto** function = reinterpret_cast<void**>(place);
    const Hook hook = extension_hook(reinterpret_cast<const char*>(name), *function);
    if (hook.function != nullptr) *function = hook.function;
  }
};

#define LEVEL_ZERO_FUNCTION(name, act, kinds, kind, handle, size, second_kind, second, ...)                \
  template <>                                                                                              \
  struct RoleOf<static_cast<std::uint32_t>(Function::name)> {                                              \
    static constexpr Role kValue = {Act::act, kinds, Kind{kind}, handle, size, Kind{second_kind}, second}; \
  };
#include "level_zero/tracker/api_table.inc"
#undef LEVEL_ZERO_FUNCTION

template <std::uint32_t id, class... Parameters>
struct Row {
  template <std::uint32_t instance>
  static Hook hook() {
    using Instance = Stub<id, instance, Parameters...>;
    return {reinterpret_cast<void*>(&Instance::call), &Instance::next};
  }
};

using HookMaker = Hook (*)();
constexpr HookMaker kHooks[][kInstances] = {
#define LEVEL_ZERO_FUNCTION(name, act, kinds, kind, handle, size, second_kind, second, ...) \
  {&Row<static_cast<std::uint32_t>(Function::name), __VA_ARGS__>::hook<0>,                  \
   &Row<static_cast<std::uint32_t>(Function::name), __VA_ARGS__>::hook<1>,                  \
   &Row<static_cast<std::uint32_t>(Function::name), __VA_ARGS__>::hook<2>},
#include "level_zero/tracker/api_table.inc"
#undef LEVEL_ZERO_FUNCTION
};

// The hook for a slot of the driver's table.
Hook table_hook(std::uint32_t function) { return kHooks[function][0](); }

Hook extension_hook(const char* name, void* driver_function) {
  for (std::uint32_t function = 0; function < kFunctions; ++function) {
    if (strcmp(kFunctionNames[function], name) != 0) continue;
    for (std::uint32_t instance = 1; instance < kInstances; ++instance) {
      const Hook hook = kHooks[function][instance]();
      if (driver_function == hook.function || load(*hook.next) == driver_function ||
          exchange_if(*hook.next, static_cast<void*>(nullptr), driver_function))
        return hook;
    }
  }
  return {nullptr, nullptr};
}

// Replaces the function pointer *place, unless it is null or was replaced before.
void replace(void** place, const Hook& hook) {
  if (*place == nullptr || *place == hook.function) return;
  store(*hook.next, *place);
  *place = hook.function;
}

using Getter = Result (*)(std::uint32_t version, void** table);
constexpr Result kInvalidNullPointer = 0x78000007;

enum class Table : std::uint8_t {
#define LEVEL_ZERO_TABLE(getter) getter,
#include "level_zero/tracker/api_table.inc"
#undef LEVEL_ZERO_TABLE
};

struct TrackedSlot {
  Table table;
  std::uint8_t slot;
  Function function;
  std::uint32_t since;  // an older loader's table ends before this slot
};

constexpr TrackedSlot kTrackedSlots[] = {
#define LEVEL_ZERO_SLOT(getter, slot, since, function) {Table::getter, slot, Function::function, since},
#include "level_zero/tracker/api_table.inc"
#undef LEVEL_ZERO_SLOT
};

// Any of these asks for a checker of the real validation layer.
constexpr const char* kCheckers[] = {
    "ZE_ENABLE_PARAMETER_VALIDATION",   "ZE_ENABLE_HANDLE_LIFETIME",      "ZE_ENABLE_THREADING_VALIDATION",
    "ZE_ENABLE_MEMORY_TRACKER",         "ZEL_ENABLE_EVENTS_CHECKER",      "ZEL_ENABLE_BASIC_LEAK_CHECKER",
    "ZEL_ENABLE_CERTIFICATION_CHECKER", "ZEL_ENABLE_PERFORMANCE_CHECKER", "ZEL_ENABLE_SYSTEM_RESOURCE_TRACKER_CHECKER",
};

bool checkers_wanted() {
  for (const char* name : kCheckers) {
    const char* value = getenv(name);
    if (value != nullptr && value[0] != '\0' && strcmp(value, "0") != 0) return true;
  }
  return false;
}

// Beside the loader, where the distribution puts both.
int find_beside_loader(dl_phdr_info* object, std::size_t, void* path) {
  const char* slash = strrchr(object->dlpi_name, '/');
  if (slash == nullptr || strncmp(slash + 1, "libze_loader.so", 15) != 0) return 0;
  snprintf(static_cast<char*>(path), PATH_MAX, "%.*s/libze_validation_layer.so.1",
           static_cast<int>(slash - object->dlpi_name), object->dlpi_name);
  return 1;
}

void* open_validation_layer() {
  if (!checkers_wanted()) return nullptr;
  char path[PATH_MAX] = "";
  if (const char* given = secure_getenv("INTEL_GPU_LEVEL_ZERO_VALIDATION_LAYER"); given != nullptr)
    snprintf(path, sizeof path, "%s", given);
  else if (dl_iterate_phdr(find_beside_loader, path) == 0)
    return nullptr;
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

void* validation_layer;

Result fill(Table table, const char* getter, std::uint32_t version, void** slots) {
  if (slots == nullptr) return kInvalidNullPointer;
  find_loader();
  // First the other layer, so that it stands between us and the driver.
  if (validation_layer != nullptr)
    if (auto other = reinterpret_cast<Getter>(dlsym(validation_layer, getter)); other != nullptr) other(version, slots);
  OwnProcess::current();  // a program that never creates anything has a page, too
  for (const TrackedSlot& tracked : kTrackedSlots)
    if (tracked.table == table && version >= tracked.since)
      replace(slots + tracked.slot, table_hook(static_cast<std::uint32_t>(tracked.function)));
  return kSuccess;
}

__attribute__((constructor)) void loaded() { validation_layer = open_validation_layer(); }

__attribute__((destructor)) void unloaded() { OwnProcess::ending(); }

}  // namespace
}  // namespace igpu::level_zero

#define LEVEL_ZERO_TABLE(getter)                                                                               \
  extern "C" __attribute__((visibility("default"))) std::uint32_t getter(std::uint32_t version, void** table); \
  extern "C" std::uint32_t getter(std::uint32_t version, void** table) {                                       \
    return igpu::level_zero::fill(igpu::level_zero::Table::getter, #getter, version, table);                   \
  }
#include "level_zero/tracker/api_table.inc"
#undef LEVEL_ZERO_TABLE
