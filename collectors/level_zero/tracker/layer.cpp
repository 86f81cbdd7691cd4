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

#include "level_zero/tracker/hooks.h"
#include "level_zero/tracker/own_process.h"

namespace igpu::level_zero {
namespace {

using Result = std::uint32_t;
using Getter = Result (*)(std::uint32_t version, void** table);
constexpr Result kSuccess = 0;
constexpr Result kInvalidNullPointer = 0x78000007;

enum class Table : std::uint8_t {
#define LEVEL_ZERO_TABLE(getter) getter,
#include "level_zero/tracker/api_table.inc"
#undef LEVEL_ZERO_TABLE
};

enum class Function : std::uint16_t {
#define LEVEL_ZERO_FUNCTION(name, ...) name,
#include "level_zero/tracker/api_table.inc"
#undef LEVEL_ZERO_FUNCTION
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
