// SPDX-License-Identifier: Apache-2.0
#include "level_zero/tracker/hooks.h"

#include <string.h>

#include "level_zero/tracker/own_process.h"
#include "level_zero/tracker/shared_word.h"

namespace igpu::level_zero {
namespace {

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

}  // namespace

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

void replace(void** place, const Hook& hook) {
  if (*place == nullptr || *place == hook.function) return;
  store(*hook.next, *place);
  *place = hook.function;
}

}  // namespace igpu::level_zero
