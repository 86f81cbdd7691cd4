// SPDX-License-Identifier: Apache-2.0
//
// A gdi32.dll that answers the exporter's queries as the script in the environment variable FAKE_GDI32 says
// (support/adapter_script.h), or as a capture does that the program wrote (windows/recorded_adapters.h). fake_advance()
// moves its time, and fake_next_scrape() the number of the scrape.
#include <windows.h>

#include <algorithm>
#include <cstring>

#include "machine/d3dkmt_windows.h"
#include "view/capture_file/script.h"
#include "windows/fake_state.h"

namespace {

using namespace igpu;
using namespace igpu::test;

std::uint64_t number_of(const d3dkmt::Luid& luid) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(luid.high)) << 32 | luid.low;
}

d3dkmt::Luid luid_of(std::uint64_t number) {
  return {static_cast<std::uint32_t>(number), static_cast<std::int32_t>(number >> 32)};
}

LONG value(NtStatus status) { return static_cast<LONG>(status); }

// Asked once in a scrape, or it would cost more than what is measured.
const std::string& process_name(void* process) {
  const auto [at, is_new] = fake().process_names.try_emplace(process);
  char path[1024];
  DWORD size = sizeof path;
  if (is_new && ::QueryFullProcessImageNameA(process, 0, path, &size)) {
    const std::string text(path, size);
    at->second = text.substr(text.find_last_of("\\/") + 1);
  }
  return at->second;
}

NtStatus describe(const ScriptAdapter& adapter, const d3dkmt::QueryAdapterInfo& query) {
  switch (query.type) {
    case d3dkmt::kAddress:
      if (auto* const to = data_of<d3dkmt::Address>(query)) {
        *to = {adapter.facts.bus, adapter.facts.slot, adapter.facts.function};
        return NtStatus::success;
      }
      break;
    case d3dkmt::kDeviceIds:
      if (auto* const to = data_of<d3dkmt::DeviceIds>(query)) {
        *to = {0, adapter.facts.vendor, adapter.facts.device, 0, 0, adapter.facts.revision, 0};
        return NtStatus::success;
      }
      break;
    case d3dkmt::kRegistry:
      if (auto* const to = data_of<d3dkmt::Registry>(query)) {
        put_name(adapter.facts.name, to->adapter);
        return NtStatus::success;
      }
      break;
    case d3dkmt::kSegmentSize:
      if (auto* const to = data_of<d3dkmt::SegmentSize>(query)) {
        const NtStatus status = adapter.status(AdapterQuery::memory, 0, 1);
        if (status == NtStatus::success && adapter.fills(AdapterQuery::memory))
          *to = {adapter.memory.dedicated, 0, adapter.memory.shared};
        return status;
      }
      break;
    case d3dkmt::kNodeMetadata:
      if (auto* const to = data_of<d3dkmt::NodeMetadata>(query)) {
        const std::size_t node = to->node & 0xffff;
        const NtStatus status = adapter.status(AdapterQuery::node, node, adapter.nodes.size());
        if (status == NtStatus::success && adapter.fills(AdapterQuery::node)) {
          to->type = adapter.nodes[node].type;
          put_name(adapter.nodes[node].name, to->name);
        }
        return status;
      }
      break;
    case d3dkmt::kNodePerformance:
      if (auto* const to = data_of<d3dkmt::NodePerformance>(query)) {
        const NtStatus status = adapter.status(AdapterQuery::clock, to->node, adapter.nodes.size());
        if (status == NtStatus::success && adapter.fills(AdapterQuery::clock)) {
          to->hertz = adapter.nodes[to->node].clock.hertz;
          to->max_hertz = adapter.nodes[to->node].clock.max_hertz;
        }
        return status;
      }
      break;
    case d3dkmt::kPerformance:
      if (auto* const to = data_of<d3dkmt::Performance>(query)) {
        const NtStatus status = adapter.status(AdapterQuery::sensors, 0, 1);
        if (status == NtStatus::success && adapter.fills(AdapterQuery::sensors)) {
          to->fan_rpm = adapter.sensors->fan_rpm;
          to->power = adapter.sensors->power;
          to->deci_celsius = adapter.sensors->deci_celsius;
        }
        return status;
      }
      break;
    default: break;
  }
  return NtStatus::invalid_parameter;
}

NtStatus count(const ScriptAdapter& adapter, d3dkmt::QueryStatistics& query) {
  const std::size_t number = query.query;
  d3dkmt::QueryStatistics::Result result;
  std::memset(&result, 0, sizeof result);
  AdapterQuery kind{};
  std::size_t of = 1;
  switch (query.type) {
    case d3dkmt::kOfAdapter: kind = AdapterQuery::counts; break;
    case d3dkmt::kOfNode:
      kind = AdapterQuery::running;
      of = adapter.nodes.size();
      break;
    case d3dkmt::kOfSegment:
      kind = AdapterQuery::segment;
      of = adapter.segments.size();
      break;
    case d3dkmt::kOfProcessNode:
      kind = AdapterQuery::process_node;
      of = adapter.nodes.size();
      break;
    case d3dkmt::kOfProcessSegment:
      kind = AdapterQuery::process_segment;
      of = adapter.segments.size();
      break;
    default: return NtStatus::not_supported;
  }
  const NtStatus status = adapter.status(kind, kind == AdapterQuery::counts ? 0 : number, of);
  if (status != NtStatus::success || !adapter.fills(kind)) return status;
  if (kind == AdapterQuery::counts) {
    const AdapterCounts counts = adapter.told_counts();
    result.adapter = {counts.segments, counts.nodes};
  } else if (kind == AdapterQuery::running) {
    result.node.running = adapter.running(number, fake().milliseconds);
  } else if (kind == AdapterQuery::segment) {
    const AdapterSegment& segment = adapter.segments[number];
    result.segment.limit = segment.limit;
    result.segment.resident = segment.resident;
    result.segment.aperture = segment.aperture ? 1 : 0;
  } else if (kind == AdapterQuery::process_node) {
    result.node.running = adapter.running(process_name(query.process), number, fake().milliseconds);
  } else {
    result.process_segment.committed = adapter.committed(process_name(query.process), number);
  }
  query.result = result;
  return status;
}

}  // namespace

extern "C" {

__declspec(dllexport) void fake_advance(unsigned milliseconds) { fake().milliseconds += milliseconds; }
__declspec(dllexport) void fake_next_scrape() {
  ++fake().scrape;
  fake().process_names.clear();
  if (fake().recorded) fake().recorded->next_scrape();
}
__declspec(dllexport) unsigned fake_open_handles() { return static_cast<unsigned>(fake().handles.size()); }

__declspec(dllexport) LONG WINAPI D3DKMTEnumAdapters2(d3dkmt::EnumAdapters2* all) {
  Fake& the = fake();
  std::vector<std::uint64_t> luids;
  std::vector<std::size_t> numbers;
  if (the.recorded) {
    if (const NtStatus status = the.recorded->list(luids); status != NtStatus::success) return value(status);
    numbers.assign(luids.begin(), luids.end());
  }
  for (std::size_t i = 0; i < the.adapters.size(); ++i) {
    const ScriptAdapter& adapter = the.adapters[i];
    if (the.scrape < adapter.first || the.scrape > adapter.last) continue;
    luids.push_back(adapter.facts.luid);
    numbers.push_back(i);
  }
  if (all->adapters && luids.size() > all->count) return value(NtStatus::buffer_too_small);
  for (std::size_t i = 0; i < luids.size() && all->adapters; ++i)
    all->adapters[i] = {the.give_handle(numbers[i]), luid_of(luids[i]), 1, 0};
  all->count = static_cast<std::uint32_t>(luids.size());
  return value(NtStatus::success);
}

__declspec(dllexport) LONG WINAPI D3DKMTOpenAdapterFromLuid(d3dkmt::OpenAdapterFromLuid* adapter) {
  Fake& the = fake();
  if (the.recorded) {
    const NtStatus status = the.recorded->open(number_of(adapter->luid));
    if (status == NtStatus::success) adapter->handle = the.give_handle(number_of(adapter->luid));
    return value(status);
  }
  for (std::size_t i = 0; i < the.adapters.size(); ++i) {
    if (the.adapters[i].facts.luid != number_of(adapter->luid)) continue;
    adapter->handle = the.give_handle(i);
    return value(NtStatus::success);
  }
  return value(NtStatus::invalid_parameter);
}

__declspec(dllexport) LONG WINAPI D3DKMTCloseAdapter(d3dkmt::CloseAdapter* adapter) {
  return value(fake().handles.erase(adapter->handle) == 1 ? NtStatus::success : NtStatus::invalid_handle);
}

__declspec(dllexport) LONG WINAPI D3DKMTQueryAdapterInfo(d3dkmt::QueryAdapterInfo* query) {
  const auto at = fake().handles.find(query->handle);
  if (at == fake().handles.end()) return value(NtStatus::invalid_handle);
  if (fake().recorded) return value(fake().recorded->describe(at->second, *query));
  return value(describe(fake().adapters[at->second], *query));
}

__declspec(dllexport) LONG WINAPI D3DKMTQueryStatistics(d3dkmt::QueryStatistics* query) {
  if (fake().recorded) return value(fake().recorded->count(number_of(query->luid), *query));
  for (const ScriptAdapter& adapter : fake().adapters)
    if (adapter.facts.luid == number_of(query->luid)) return value(count(adapter, *query));
  return value(NtStatus::invalid_parameter);
}
}
