// SPDX-License-Identifier: Apache-2.0
//
// The functions of a pdh.dll, in the same library and from the same script as fake_gdi32.cpp.
#include <windows.h>

#include <string>
#include <vector>

#include "machine/pdh_windows.h"
#include "machine/windows_status.h"
#include "windows/fake_state.h"

namespace {

using namespace igpu;
using namespace igpu::test;

LONG value(PdhStatus status) { return static_cast<LONG>(status); }

int the_query = 0, the_counter = 0;  // what handles point at

LONG tell(std::vector<EngineCounter>& all) {
  if (fake().recorded) return value(fake().recorded->engine_counters(all));
  for (const ScriptAdapter& adapter : fake().adapters) {
    if (const auto fails = adapter.fails.find(AdapterQuery::pdh); fails != adapter.fails.end())
      return static_cast<LONG>(fails->second);
    const auto counters = adapter.engine_counters(fake().milliseconds);
    all.insert(all.end(), counters.begin(), counters.end());
  }
  return value(PdhStatus::success);
}

LONG outcome() {
  std::vector<EngineCounter> all;
  return tell(all);
}

}  // namespace

extern "C" {

__declspec(dllexport) LONG WINAPI PdhOpenQueryW(const char16_t*, std::uintptr_t, pdh::Handle* query) {
  *query = &the_query;
  return value(PdhStatus::success);
}

__declspec(dllexport) LONG WINAPI PdhCloseQuery(pdh::Handle) { return value(PdhStatus::success); }

__declspec(dllexport) LONG WINAPI
    PdhAddEnglishCounterW(pdh::Handle query, const char16_t* path, std::uintptr_t, pdh::Handle* counter) {
  if (query != &the_query || std::u16string(path) != u"\\GPU Engine(*)\\Running Time")
    return value(PdhStatus::no_counter);
  *counter = &the_counter;
  return outcome();
}

__declspec(dllexport) LONG WINAPI PdhCollectQueryData(pdh::Handle query) {
  return query == &the_query ? outcome() : value(PdhStatus::no_data);
}

__declspec(dllexport) LONG WINAPI PdhGetRawCounterArrayW(pdh::Handle, DWORD* bytes, DWORD* count, pdh::Item* items) {
  std::vector<EngineCounter> all;
  if (const LONG status = tell(all); status != value(PdhStatus::success)) return status;
  const ScriptArray* array = nullptr;
  for (const ScriptAdapter& adapter : fake().adapters)
    if (adapter.array) array = &*adapter.array;
  std::size_t needed = all.size() * sizeof(pdh::Item);
  for (const EngineCounter& counter : all) needed += (counter.instance.size() + 1) * sizeof(char16_t);
  if (items == nullptr || *bytes < needed) {
    *bytes = array != nullptr ? array->bytes : static_cast<DWORD>(needed);
    return value(PdhStatus::more_data);
  }
  auto* name = reinterpret_cast<char16_t*>(items + all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    items[i] = {name, {}};
    items[i].value.first = all[i].running;
    for (const char c : all[i].instance) *name++ = static_cast<unsigned char>(c);
    *name++ = 0;
  }
  *count = array != nullptr ? array->items : static_cast<DWORD>(all.size());
  return value(PdhStatus::success);
}
}
