// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "igpu/reading.h"
#include "igpu/units.h"

// Graphics adapters as Windows' graphics kernel describes them to any process (D3DKMT* of gdi32.dll; d3dkmthk.h of the
// Windows Driver Kit). The numbers are the driver's, unchecked and in its units; kernel/windows/wddm.h makes values of
// them.
//
// How a status becomes an outcome: machine/windows_status.h.
namespace igpu {

// Engine time from Windows' performance counters: \GPU Engine(*)\Running Time, an instance for each engine that a
// process uses (pdh.h of the Windows SDK). An instance ends with its process. The numbers are unchecked;
// kernel/clients/wddm_clients.h makes values of them.
struct EngineCounter {
  std::string instance;
  std::int64_t running = 0;  // 100 ns, of this process on this engine
};

class EngineCounters {
 public:
  virtual ~EngineCounters() = default;
  // Any thread. Nothing is loaded and no counter is opened before the first call.
  virtual Reading<std::vector<EngineCounter>> read() = 0;
};

// Windows only. library: the DLL that has the functions.
std::unique_ptr<EngineCounters> system_engine_counters(const std::string& library);

struct AdapterFacts {
  std::uint64_t luid = 0;  // changes whenever the driver starts
  std::uint32_t vendor = 0, device = 0, revision = 0;
  std::uint32_t bus = 0, slot = 0, function = 0;  // of its PCI address
  std::string name;                               // UTF-8; "" if it has none
};

struct AdapterCounts {
  std::uint32_t nodes = 0, segments = 0;
};

// A node is an engine, or several that the driver schedules as one.
struct AdapterNode {
  std::uint32_t type = 0;  // DXGK_ENGINE_TYPE
  std::string name;        // of a type that Windows does not know; UTF-8
};

struct AdapterSegment {
  std::uint64_t limit = 0, resident = 0;  // bytes
  bool aperture = false;                  // main memory that the GPU accesses through a window
};

struct AdapterMemory {
  std::uint64_t dedicated = 0, shared = 0;  // bytes: of the card, and of main memory
};

struct NodeClock {
  std::uint64_t hertz = 0, max_hertz = 0;  // 0: not reported
};

struct AdapterSensors {
  std::uint32_t fan_rpm = 0;       // 0: not reported
  std::uint32_t power = 0;         // tenths of a percent of the limit; 0: not reported
  std::uint32_t deci_celsius = 0;  // 0: not reported
};

struct AdapterProcess {
  std::uint32_t pid = 0;
  std::uint64_t started = 0;  // 100 ns since 1601
  std::string name;           // of its file, UTF-8
  std::optional<Nanoseconds> cpu;
  std::optional<std::uint64_t> resident;  // bytes
  std::shared_ptr<void> handle;           // null: it may not be opened
};

struct AdapterProcesses {
  std::uint64_t now = 0;                  // 100 ns since 1601
  std::uint32_t self = 0;                 // PID of this process
  std::vector<AdapterProcess> processes;  // all
};

// One adapter, from its discovery to the end of its driver. Any thread.
class GpuAdapter {
 public:
  virtual ~GpuAdapter() = default;
  virtual Reading<AdapterCounts> counts() = 0;
  virtual Reading<AdapterNode> node(std::uint32_t node) = 0;
  virtual Reading<std::int64_t> running(std::uint32_t node) = 0;  // 100 ns, since the driver started
  virtual Reading<AdapterSegment> segment(std::uint32_t segment) = 0;
  virtual Reading<AdapterMemory> memory() = 0;
  virtual Reading<NodeClock> clock(std::uint32_t node) = 0;  // WDDM 2.4
  virtual Reading<AdapterSensors> sensors() = 0;             // WDDM 2.4
  // For one process, whose handle must not be null.
  virtual Reading<std::int64_t> running(const AdapterProcess& process, std::uint32_t node) = 0;        // 100 ns
  virtual Reading<std::uint64_t> committed(const AdapterProcess& process, std::uint32_t segment) = 0;  // bytes
};

class GpuAdapters {
 public:
  virtual ~GpuAdapters() = default;
  // All adapters, of every vendor and in software, in Windows' order. Absent: this Windows lacks the functions.
  virtual Reading<std::vector<AdapterFacts>> list() = 0;
  // An adapter of the last list(); null if it has gone.
  virtual std::shared_ptr<GpuAdapter> open(std::uint64_t luid) = 0;
  virtual Reading<AdapterProcesses> processes() = 0;
  // The source of values that adapters do not report. Null: there is no such interface.
  virtual EngineCounters* engine_counters() { return nullptr; }
};

// The DLLs that have the functions; tests use their own.
struct GpuLibraries {
  std::string adapters = "gdi32.dll", engine_counters = "pdh.dll";
};

// Null: this is not Windows.
std::unique_ptr<GpuAdapters> system_gpu_adapters(const GpuLibraries& libraries = {});

}  // namespace igpu
