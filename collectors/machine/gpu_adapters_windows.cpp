// SPDX-License-Identifier: Apache-2.0
#include "machine/gpu_adapters.h"

// clang-format off: this one comes first
#include "machine/library_windows.h"
// clang-format on

#include <psapi.h>
#include <tlhelp32.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

#include "machine/d3dkmt_windows.h"
#include "machine/windows_status.h"

namespace igpu {
namespace {

constexpr std::uint32_t kMostAdapters = 256;  // more are a driver's mistake
constexpr std::size_t kMostProcesses = 65536;

std::string utf8(const wchar_t* text, std::size_t length) {
  length = std::min(length, ::wcsnlen(text, length));
  const int size = static_cast<int>(length);
  std::string converted(3 * length, '\0');
  const int written = ::WideCharToMultiByte(CP_UTF8, 0, text, size, converted.data(),
                                            static_cast<int>(converted.size()), nullptr, nullptr);
  converted.resize(written > 0 ? static_cast<std::size_t>(written) : 0);
  return converted;
}
template <std::size_t N>
std::string utf8(const char16_t (&text)[N]) {
  static_assert(sizeof(wchar_t) == sizeof(char16_t));
  wchar_t copy[N];
  std::memcpy(copy, text, sizeof copy);
  return utf8(copy, N);
}

std::uint64_t number_of(const FILETIME& time) {
  return static_cast<std::uint64_t>(time.dwHighDateTime) << 32 | time.dwLowDateTime;
}

std::uint64_t number_of(const d3dkmt::Luid& luid) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(luid.high)) << 32 | luid.low;
}

// The functions, each looked up: a Windows without one of them lacks it and is otherwise as before.
class AdapterFunctions {
 public:
  explicit AdapterFunctions(const std::string& library) : library_(library) {
    library_.look_up(enumerate_, "D3DKMTEnumAdapters2");
    library_.look_up(open_, "D3DKMTOpenAdapterFromLuid");
    library_.look_up(close_, "D3DKMTCloseAdapter");
    library_.look_up(info_, "D3DKMTQueryAdapterInfo");
    library_.look_up(statistics_, "D3DKMTQueryStatistics");
  }

  bool complete() const { return enumerate_ && open_ && close_ && info_ && statistics_; }
  NtStatus enumerate(d3dkmt::EnumAdapters2& all) const { return static_cast<NtStatus>(enumerate_(&all)); }
  NtStatus open(d3dkmt::OpenAdapterFromLuid& adapter) const { return static_cast<NtStatus>(open_(&adapter)); }
  void close(std::uint32_t handle) const {
    d3dkmt::CloseAdapter adapter{handle};
    (void)close_(&adapter);
  }
  NtStatus info(d3dkmt::QueryAdapterInfo& query) const { return static_cast<NtStatus>(info_(&query)); }
  NtStatus statistics(d3dkmt::QueryStatistics& query) const { return static_cast<NtStatus>(statistics_(&query)); }

 private:
  WindowsLibrary library_;
  LONG(WINAPI* enumerate_)(d3dkmt::EnumAdapters2*) = nullptr;
  LONG(WINAPI* open_)(d3dkmt::OpenAdapterFromLuid*) = nullptr;
  LONG(WINAPI* close_)(d3dkmt::CloseAdapter*) = nullptr;
  LONG(WINAPI* info_)(d3dkmt::QueryAdapterInfo*) = nullptr;
  LONG(WINAPI* statistics_)(d3dkmt::QueryStatistics*) = nullptr;
};

class SystemAdapter final : public GpuAdapter {
 public:
  SystemAdapter(std::shared_ptr<const AdapterFunctions> functions, std::uint32_t handle, d3dkmt::Luid luid)
      : functions_(std::move(functions)), handle_(handle), luid_(luid) {}
  ~SystemAdapter() override { functions_->close(handle_); }
  SystemAdapter(const SystemAdapter&) = delete;
  SystemAdapter& operator=(const SystemAdapter&) = delete;

  // What does not answer stays 0, and the adapter is none of Intel's.
  AdapterFacts facts() const {
    AdapterFacts facts;
    facts.luid = number_of(luid_);
    d3dkmt::DeviceIds ids{};
    d3dkmt::Address address{};
    if (info(d3dkmt::kDeviceIds, ids) != NtStatus::success || info(d3dkmt::kAddress, address) != NtStatus::success)
      return facts;
    facts.vendor = ids.vendor;
    facts.device = ids.device;
    facts.revision = ids.revision;
    facts.bus = address.bus;
    facts.slot = address.slot;
    facts.function = address.function;
    const auto registry = std::make_unique<d3dkmt::Registry>();
    if (info(d3dkmt::kRegistry, *registry) == NtStatus::success) facts.name = utf8(registry->adapter);
    return facts;
  }

  Reading<AdapterCounts> counts() override {
    return counted("adapter", d3dkmt::kOfAdapter, 0, nullptr, [](const Result& it) {
      return AdapterCounts{it.adapter.nodes, it.adapter.segments};
    });
  }
  Reading<AdapterNode> node(std::uint32_t node) override {
    d3dkmt::NodeMetadata metadata{};
    metadata.node = node;
    return told("node metadata", d3dkmt::kNodeMetadata, metadata, [](const d3dkmt::NodeMetadata& it) {
      return AdapterNode{it.type, utf8(it.name)};
    });
  }
  Reading<std::int64_t> running(std::uint32_t node) override {
    return counted("node", d3dkmt::kOfNode, node, nullptr, [](const Result& it) { return it.node.running; });
  }
  Reading<AdapterSegment> segment(std::uint32_t segment) override {
    return counted("segment", d3dkmt::kOfSegment, segment, nullptr, [](const Result& it) {
      return AdapterSegment{it.segment.limit, it.segment.resident, it.segment.aperture != 0};
    });
  }
  Reading<AdapterMemory> memory() override {
    return told("segment size", d3dkmt::kSegmentSize, d3dkmt::SegmentSize{}, [](const d3dkmt::SegmentSize& it) {
      return AdapterMemory{it.dedicated_video, it.shared};
    });
  }
  Reading<NodeClock> clock(std::uint32_t node) override {
    d3dkmt::NodePerformance asked{};
    asked.node = node;
    return told("node performance", d3dkmt::kNodePerformance, asked, [](const d3dkmt::NodePerformance& it) {
      return NodeClock{it.hertz, it.max_hertz};
    });
  }
  Reading<AdapterSensors> sensors() override {
    return told("performance", d3dkmt::kPerformance, d3dkmt::Performance{}, [](const d3dkmt::Performance& it) {
      return AdapterSensors{it.fan_rpm, it.power, it.deci_celsius};
    });
  }
  Reading<std::int64_t> running(const AdapterProcess& process, std::uint32_t node) override {
    return counted("node of a process", d3dkmt::kOfProcessNode, node, process.handle.get(),
                   [](const Result& it) { return it.node.running; });
  }
  Reading<std::uint64_t> committed(const AdapterProcess& process, std::uint32_t segment) override {
    return counted("segment of a process", d3dkmt::kOfProcessSegment, segment, process.handle.get(),
                   [](const Result& it) { return it.process_segment.committed; });
  }

 private:
  using Result = d3dkmt::QueryStatistics::Result;

  // about: for the message of a failure. make: of the answer.
  template <class Data, class Make>
  auto told(const char* about, std::uint32_t type, Data data, Make&& make) const
      -> Reading<decltype(make(std::as_const(data)))> {
    const NtStatus status = info(type, data);
    if (status == NtStatus::success) return make(data);
    return outcome_of_status<decltype(make(data))>(status, std::string("D3DKMTQueryAdapterInfo(") + about + ')');
  }
  template <class Make>
  auto counted(const char* about, std::uint32_t type, std::uint32_t number, void* process, Make&& make) const
      -> Reading<decltype(make(std::declval<const Result&>()))> {
    d3dkmt::QueryStatistics query;
    const NtStatus status = statistics(type, number, process, query);
    if (status == NtStatus::success) return make(query.result);
    return outcome_of_status<decltype(make(query.result))>(status, std::string("D3DKMTQueryStatistics(") + about + ')');
  }
  template <class T>
  NtStatus info(std::uint32_t type, T& data) const {
    d3dkmt::QueryAdapterInfo query{handle_, type, &data, sizeof data};
    return functions_->info(query);
  }
  // A result that the kernel has not filled is no valid number: negative, or larger than any memory.
  NtStatus statistics(std::uint32_t type, std::uint32_t number, void* process, d3dkmt::QueryStatistics& query) const {
    std::memset(&query, 0, sizeof query);
    std::memset(&query.result, 0xff, sizeof query.result);
    query.type = type;
    query.luid = luid_;
    query.process = process;
    query.query = number;
    return functions_->statistics(query);
  }

  std::shared_ptr<const AdapterFunctions> functions_;
  std::uint32_t handle_;
  d3dkmt::Luid luid_;
};

class SystemAdapters final : public GpuAdapters {
 public:
  explicit SystemAdapters(const GpuLibraries& libraries)
      : functions_(std::make_shared<AdapterFunctions>(libraries.adapters)),
        engine_counters_(system_engine_counters(libraries.engine_counters)) {}

  Reading<std::vector<AdapterFacts>> list() override {
    if (!functions_->complete()) return Absent{Reason::kernel, ENOSYS};
    std::vector<d3dkmt::AdapterInfo> found(kMostAdapters);
    d3dkmt::EnumAdapters2 all{kMostAdapters, found.data()};
    const NtStatus status = functions_->enumerate(all);
    if (status != NtStatus::success) return outcome_of_status<std::vector<AdapterFacts>>(status, "D3DKMTEnumAdapters2");
    if (all.count > kMostAdapters)
      return Failure{std::make_error_code(std::errc::value_too_large), "D3DKMTEnumAdapters2: number of adapters"};
    found.resize(all.count);
    std::vector<AdapterFacts> facts;
    std::map<std::uint64_t, Known> known;
    const std::lock_guard lock(mutex_);
    for (const d3dkmt::AdapterInfo& info : found) {
      // The call opened it: closed again, so that nothing holds a card that is not read.
      const SystemAdapter opened(functions_, info.handle, info.luid);
      const std::uint64_t luid = number_of(info.luid);
      if (known.contains(luid)) continue;
      const auto before = known_.find(luid);
      // While its driver starts, an adapter may not answer: it is asked again then.
      const bool has_facts = before != known_.end() && before->second.facts.vendor != 0;
      known.emplace(luid, has_facts ? before->second : Known{info.luid, opened.facts(), {}});
      facts.push_back(known.at(luid).facts);
    }
    known_ = std::move(known);
    return facts;
  }

  std::shared_ptr<GpuAdapter> open(std::uint64_t luid) override {
    const std::lock_guard lock(mutex_);
    const auto at = known_.find(luid);
    if (at == known_.end()) return nullptr;
    if (auto shared = at->second.adapter.lock()) return shared;
    d3dkmt::OpenAdapterFromLuid opened{at->second.luid, 0};
    if (functions_->open(opened) != NtStatus::success) return nullptr;
    auto adapter = std::make_shared<SystemAdapter>(functions_, opened.handle, opened.luid);
    at->second.adapter = adapter;
    return adapter;
  }

  EngineCounters* engine_counters() override { return engine_counters_.get(); }

  Reading<AdapterProcesses> processes() override {
    const HANDLE snapshot = ::CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
    if (snapshot == INVALID_HANDLE_VALUE)
      return Failure{std::make_error_code(std::errc::io_error), "CreateToolhelp32Snapshot"};
    AdapterProcesses all;
    FILETIME now;
    ::GetSystemTimeAsFileTime(&now);
    all.now = number_of(now);
    all.self = ::GetCurrentProcessId();
    PROCESSENTRY32W entry{};
    entry.dwSize = sizeof entry;
    for (BOOL more = ::Process32FirstW(snapshot, &entry); more && all.processes.size() < kMostProcesses;
         more = ::Process32NextW(snapshot, &entry)) {
      if (entry.th32ProcessID == 0) continue;  // what runs while no process does
      if (auto process = describe(entry)) all.processes.push_back(*std::move(process));
    }
    ::CloseHandle(snapshot);
    return all;
  }

 private:
  struct Known {
    d3dkmt::Luid luid;
    AdapterFacts facts;
    std::weak_ptr<GpuAdapter> adapter;  // that collectors share while they read it
  };

  // nullopt: it has ended since it was listed.
  static std::optional<AdapterProcess> describe(const PROCESSENTRY32W& entry) {
    AdapterProcess process;
    process.pid = entry.th32ProcessID;
    process.name = utf8(entry.szExeFile, std::size(entry.szExeFile));
    HANDLE handle = ::OpenProcess(PROCESS_QUERY_INFORMATION, FALSE, process.pid);
    if (!handle) handle = ::OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, process.pid);
    if (!handle) return ::GetLastError() == ERROR_INVALID_PARAMETER ? std::nullopt : std::optional(std::move(process));
    process.handle = std::shared_ptr<void>(handle, [](void* it) { ::CloseHandle(it); });
    FILETIME started, ended, in_kernel, in_user;
    if (::GetProcessTimes(handle, &started, &ended, &in_kernel, &in_user)) {
      process.started = number_of(started);
      process.cpu = Nanoseconds((number_of(in_kernel) + number_of(in_user)) * 100);
    }
    PROCESS_MEMORY_COUNTERS memory{};
    memory.cb = sizeof memory;
    if (::K32GetProcessMemoryInfo(handle, &memory, sizeof memory)) process.resident = memory.WorkingSetSize;
    return process;
  }

  std::shared_ptr<const AdapterFunctions> functions_;
  std::unique_ptr<EngineCounters> engine_counters_;
  std::mutex mutex_;
  std::map<std::uint64_t, Known> known_;  // by LUID, as last listed
};

}  // namespace

std::unique_ptr<GpuAdapters> system_gpu_adapters(const GpuLibraries& libraries) {
  return std::make_unique<SystemAdapters>(libraries);
}

}  // namespace igpu
