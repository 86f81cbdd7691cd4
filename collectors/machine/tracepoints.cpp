// SPDX-License-Identifier: Apache-2.0
#include "machine/tracepoints.h"

#include <algorithm>
#include <cstring>

#include "base/scan.h"

namespace igpu {
namespace {

// linux/perf_event.h and trace_flag_type in linux/trace_events.h; this file stays free of the OS so that it can be
// fuzzed anywhere.
constexpr std::uint32_t kRecordLost = 2;
constexpr std::uint32_t kRecordSample = 9;
constexpr std::size_t kHeaderSize = 8;
constexpr std::size_t kSampleSize = 20;  // pid, tid, time, size of the raw data
constexpr std::uint8_t kFlagHardInterrupt = 8;
constexpr std::size_t kCommonPid = 4;  // common_pid, in every event

template <class Number>
Number number_at(std::span<const std::byte> bytes, std::size_t offset) {
  Number number{};
  if (offset <= bytes.size() && bytes.size() - offset >= sizeof number)
    std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

// "\tfield:__data_loc char[] name;\toffset:24;\tsize:4;\tsigned:1;"
std::optional<TraceField> parse_field(std::string_view line) {
  line = trim(line);
  if (!line.starts_with("field:")) return std::nullopt;
  line.remove_prefix(6);
  const std::string_view declaration = trim(take_until(line, ';'));
  TraceField field;
  field.is_text = declaration.starts_with("__data_loc ");
  std::string_view name = declaration;
  // An array has its length behind its name, a __data_loc has empty brackets behind its type.
  if (!field.is_text) name = name.substr(0, name.find('['));
  name = name.substr(name.find_last_of(" *\t") + 1);
  if (name.empty()) return std::nullopt;
  field.name = name;
  bool has_offset = false, has_size = false;
  while (!line.empty()) {
    std::string_view value = trim(take_until(line, ';'));
    const std::string_view key = take_until(value, ':');
    const auto number = scan_integer<std::uint16_t>(value);
    if (key == "offset" && number) {
      field.offset = *number;
      has_offset = true;
    } else if (key == "size" && number) {
      field.size = *number;
      has_size = true;
    } else if (key == "signed" && number) {
      field.is_signed = *number != 0;
    }
  }
  if (!has_offset || !has_size) return std::nullopt;
  return field;
}

// The bytes [at, at + size) of the ring, which may go on at its beginning.
class RingView {
 public:
  explicit RingView(std::span<const std::byte> ring) : ring_(ring) {}
  std::span<const std::byte> bytes(std::uint64_t at, std::size_t size) {
    const std::size_t begin = static_cast<std::size_t>(at % ring_.size());
    if (size <= ring_.size() - begin) return ring_.subspan(begin, size);
    joined_.resize(size);
    const std::size_t first = ring_.size() - begin;
    std::memcpy(joined_.data(), ring_.data() + begin, first);
    std::memcpy(joined_.data() + first, ring_.data(), size - first);
    return joined_;
  }

 private:
  std::span<const std::byte> ring_;
  std::vector<std::byte> joined_;
};

}  // namespace

const TraceField* TraceFormat::find(std::string_view field) const {
  const auto found = std::ranges::find(fields, field, &TraceField::name);
  return found == fields.end() ? nullptr : &*found;
}

std::optional<TraceFormat> parse_trace_format(std::string_view text) {
  TraceFormat format;
  bool has_id = false;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (line.starts_with("name: ")) {
      format.name = trim(line.substr(6));
    } else if (line.starts_with("ID: ")) {
      const auto id = scan_integer<std::uint16_t>(line.substr(4));
      if (!id) return std::nullopt;
      format.id = *id;
      has_id = true;
    } else if (auto field = parse_field(line)) {
      format.fields.push_back(std::move(*field));
    }
  }
  if (!has_id || format.name.empty() || format.fields.empty()) return std::nullopt;
  return format;
}

std::uint16_t TraceRecord::event_id() const { return number_at<std::uint16_t>(data, 0); }

bool TraceRecord::in_hard_interrupt() const { return (number_at<std::uint8_t>(data, 2) & kFlagHardInterrupt) != 0; }

std::uint64_t TraceRecord::number(const TraceField& field) const {
  switch (field.size) {
    case 1:
      return field.is_signed ? static_cast<std::uint64_t>(number_at<std::int8_t>(data, field.offset))
                             : number_at<std::uint8_t>(data, field.offset);
    case 2:
      return field.is_signed ? static_cast<std::uint64_t>(number_at<std::int16_t>(data, field.offset))
                             : number_at<std::uint16_t>(data, field.offset);
    case 4:
      return field.is_signed ? static_cast<std::uint64_t>(number_at<std::int32_t>(data, field.offset))
                             : number_at<std::uint32_t>(data, field.offset);
    case 8: return number_at<std::uint64_t>(data, field.offset);
    default: return 0;
  }
}

std::string_view TraceRecord::text(const TraceField& field) const {
  std::size_t offset = field.offset, length = field.size;
  if (field.is_text) {
    const auto place = number_at<std::uint32_t>(data, field.offset);
    offset = place & 0xffff;
    length = place >> 16;
  }
  if (offset > data.size() || length > data.size() - offset) return {};
  const std::string_view text(reinterpret_cast<const char*>(data.data()) + offset, length);
  return text.substr(0, text.find('\0'));
}

std::uint64_t read_trace_ring(std::span<const std::byte> ring, std::uint64_t tail, std::uint64_t head,
                              std::uint32_t cpu, const std::function<void(const TraceRecord&)>& visit,
                              TraceRingCounts& counts) {
  if (ring.empty()) return tail;
  RingView view(ring);
  if (head - tail > ring.size()) {
    ++counts.damaged;
    return head;
  }
  while (tail < head) {
    const std::size_t available = static_cast<std::size_t>(head - tail);
    const auto header = view.bytes(tail, std::min(available, kHeaderSize));
    const auto type = number_at<std::uint32_t>(header, 0);
    const std::size_t size = number_at<std::uint16_t>(header, 6);
    if (size < kHeaderSize || size > available) {
      ++counts.damaged;
      return head;
    }
    const auto body = view.bytes(tail, size).subspan(kHeaderSize);
    tail += size;
    if (type == kRecordLost) counts.lost += number_at<std::uint64_t>(body, 8);
    if (type != kRecordSample) continue;
    const std::size_t length = number_at<std::uint32_t>(body, 16);
    if (body.size() < kSampleSize || length > body.size() - kSampleSize) {
      ++counts.damaged;
      continue;
    }
    ++counts.records;
    TraceRecord record;
    record.data = body.subspan(kSampleSize, length);
    record.pid = number_at<std::uint32_t>(body, 0);
    record.tid = number_at<std::uint32_t>(record.data, kCommonPid);
    record.time_ns = number_at<std::uint64_t>(body, 8);
    record.cpu = cpu;
    visit(record);
  }
  return tail;
}

}  // namespace igpu
