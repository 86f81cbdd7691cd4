// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "machine/tracepoints.h"
#include "support/paths.h"

// Records of tracepoints as the kernel writes them, laid out by the format files of tests/captures/tracefs.
namespace igpu::test {

inline std::string format_text(const std::string& system, const std::string& event) {
  std::ifstream file(source_folder() + "/tests/captures/tracefs/events/" + system + "/" + event + "/format");
  return {std::istreambuf_iterator<char>(file), {}};
}

inline TraceFormat captured_format(const std::string& system, const std::string& event) {
  auto format = parse_trace_format(format_text(system, event));
  if (!format) throw std::runtime_error("no format of " + system + ":" + event);
  return *format;
}

class RecordBuilder {
 public:
  explicit RecordBuilder(TraceFormat format) : format_(std::move(format)) {
    for (const TraceField& field : format_.fields)
      bytes_.resize(std::max<std::size_t>(bytes_.size(), std::size_t{field.offset} + field.size));
    set("common_type", format_.id);
  }
  RecordBuilder(const std::string& system, const std::string& event) : RecordBuilder(captured_format(system, event)) {}

  RecordBuilder& set(std::string_view name, std::uint64_t value) {
    const TraceField& field = at(name);
    std::memcpy(bytes_.data() + field.offset, &value, std::min<std::size_t>(field.size, sizeof value));
    return *this;
  }
  RecordBuilder& set(std::string_view name, std::string_view text) {
    const TraceField& field = at(name);
    if (field.is_text) {
      const auto place = static_cast<std::uint32_t>(bytes_.size() | (text.size() + 1) << 16);
      std::memcpy(bytes_.data() + field.offset, &place, sizeof place);
      for (const char c : text) bytes_.push_back(static_cast<std::byte>(c));
      bytes_.push_back(std::byte{0});
    } else {
      std::memcpy(bytes_.data() + field.offset, text.data(), std::min<std::size_t>(text.size(), field.size));
    }
    return *this;
  }
  RecordBuilder& at_time(std::uint64_t ns) {
    record_.time_ns = ns;
    return *this;
  }
  RecordBuilder& by(std::uint32_t pid, std::uint32_t tid) {
    record_.pid = pid;
    return set("common_pid", tid);
  }
  RecordBuilder& in_interrupt() { return set("common_flags", std::uint64_t{8}); }

  // Valid as long as this builder.
  TraceRecord record() {
    record_.data = bytes_;
    std::uint32_t tid = 0;
    std::memcpy(&tid, bytes_.data() + 4, sizeof tid);
    record_.tid = tid;
    return record_;
  }
  // As PERF_RECORD_SAMPLE in a ring.
  std::vector<std::byte> sample() {
    std::vector<std::byte> bytes;
    const auto append = [&](const auto& value) {
      const auto* const begin = reinterpret_cast<const std::byte*>(&value);
      bytes.insert(bytes.end(), begin, begin + sizeof value);
    };
    const TraceRecord record = this->record();
    // The raw data and its length together end at a multiple of 8.
    const std::size_t raw = (bytes_.size() + 4 + 7) / 8 * 8 - 4;
    append(std::uint32_t{9});
    append(std::uint16_t{0});
    append(static_cast<std::uint16_t>(8 + 20 + raw));
    append(record.pid);
    append(record.tid);
    append(record.time_ns);
    append(static_cast<std::uint32_t>(raw));
    bytes.insert(bytes.end(), bytes_.begin(), bytes_.end());
    bytes.resize(8 + 20 + raw);
    return bytes;
  }

 private:
  const TraceField& at(std::string_view name) const {
    const TraceField* const field = format_.find(name);
    if (field == nullptr) throw std::runtime_error("no field " + std::string(name));
    return *field;
  }

  TraceFormat format_;
  std::vector<std::byte> bytes_;
  TraceRecord record_;
};

// Replays rings that were recorded or built, one per CPU.
class FakeTracepoints final : public Tracepoints {
 public:
  // Events that this kernel has; "gpu_scheduler/*" for all of a system.
  explicit FakeTracepoints(std::set<std::string> events) : events_(std::move(events)) {}

  Reading<TraceFormat> format(std::string_view system, std::string_view event) override {
    if (denied) return Absent{Reason::permission, 13};
    const std::string name = std::string(system) + "/" + std::string(event);
    if (!events_.contains(name) && !events_.contains(std::string(system) + "/*")) return Absent{Reason::kernel, 2};
    auto parsed = parse_trace_format(format_text(std::string(system), std::string(event)));
    if (!parsed) return Absent{Reason::kernel, 2};
    return *parsed;
  }
  Reading<std::unique_ptr<TraceSession>> open(const TraceRequest& request) override {
    if (perf_error != 0) return Absent{Reason::permission, perf_error};
    requested = request;
    return std::unique_ptr<TraceSession>(std::make_unique<Session>(*this));
  }

  void add(RecordBuilder& record, std::size_t cpu = 0) {
    if (rings.size() <= cpu) rings.resize(cpu + 1);
    const auto bytes = record.sample();
    rings[cpu].insert(rings[cpu].end(), bytes.begin(), bytes.end());
  }

  bool denied = false;
  int perf_error = 0;
  std::uint64_t lost = 0;
  TraceRequest requested;
  std::vector<std::vector<std::byte>> rings;
  std::function<void()> on_wait;

 private:
  class Session final : public TraceSession {
   public:
    explicit Session(FakeTracepoints& owner) : owner_(owner) {}
    void wait(std::chrono::milliseconds) override {
      if (owner_.on_wait) owner_.on_wait();
    }
    void drain(const std::function<void(const TraceRecord&)>& visit) override {
      for (std::size_t cpu = 0; cpu < owner_.rings.size(); ++cpu) {
        std::vector<std::byte> ring = std::move(owner_.rings[cpu]);
        owner_.rings[cpu].clear();
        read_trace_ring(ring, 0, ring.size(), static_cast<std::uint32_t>(cpu), visit, counts_);
      }
    }
    void stop() override {}
    std::uint64_t lost_records() override { return owner_.lost; }
    std::uint64_t damaged() const override { return counts_.damaged; }
    std::size_t ring_bytes() const override { return owner_.requested.ring_bytes; }

   private:
    FakeTracepoints& owner_;
    TraceRingCounts counts_;
  };

  std::set<std::string> events_;
};

}  // namespace igpu::test
