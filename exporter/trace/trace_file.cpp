// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_file.h"

#include <algorithm>
#include <array>
#include <bit>

#include "trace/perfetto_fields.h"
#include "view/format/proto.h"

namespace igpu::exporter {
namespace {

using namespace perfetto;

template <class Enum, std::size_t kCount>
bool named(std::string_view text, Enum& value) {
  for (std::size_t i = 0; i < kCount; ++i) {
    if (to_string(static_cast<Enum>(i)) != text) continue;
    value = static_cast<Enum>(i);
    return true;
  }
  return false;
}

// Annotations of one event by the place of their name.
struct Annotations {
  std::array<std::uint64_t, kNotes.size()> numbers{};
  std::array<std::string_view, kNotes.size()> texts{};
  std::uint64_t number(Note note) const { return numbers[note.index]; }
  std::uint32_t number32(Note note) const { return static_cast<std::uint32_t>(number(note)); }
  std::string_view text(Note note) const { return texts[note.index]; }
  template <class Value>
  void operator()(Note note, Value& value) const {
    if constexpr (requires { value.view(); })
      value = text(note);
    else
      value = static_cast<Value>(number(note));
  }
};

class Reader {
 public:
  bool packet(std::string_view bytes) {
    ProtoFields fields(bytes);
    std::string_view track_event, ftrace_events, clocks, interned_data, track;
    for (ProtoField field; fields.next(field);) {
      if (field.number == packet::kTrackEvent) track_event = field.bytes;
      if (field.number == packet::kFtraceEvents) ftrace_events = field.bytes;
      if (field.number == packet::kClockSnapshot) clocks = field.bytes;
      if (field.number == packet::kInternedData) interned_data = field.bytes;
      if (field.number == packet::kTrackDescriptor) track = field.bytes;
    }
    if (fields.damaged()) return false;
    return (track_event.empty() || event(track_event)) && (ftrace_events.empty() || switches(ftrace_events)) &&
           (clocks.empty() || snapshot(clocks)) && (interned_data.empty() || names(interned_data)) &&
           (track.empty() || describe(track));
  }
  bool known() const { return known_; }
  TraceFile& file() { return file_; }

 private:
  bool names(std::string_view bytes) {
    ProtoFields fields(bytes);
    std::size_t count = 0;
    for (ProtoField field; fields.next(field);) {
      if (field.number != interned::kAnnotationNames) continue;
      ProtoFields entry(field.bytes);
      std::uint64_t id = 0;
      std::string_view name;
      for (ProtoField part; entry.next(part);) {
        if (part.number == interned::kId) id = part.value;
        if (part.number == interned::kName) name = part.bytes;
      }
      if (id >= 1 && id <= kNotes.size() && kNotes[id - 1] == name) ++count;
    }
    known_ = known_ || count >= kLeastNotes;
    return !fields.damaged();
  }

  // Only the tracks of counters matter.
  bool describe(std::string_view bytes) {
    ProtoFields fields(bytes);
    std::uint64_t uuid = 0;
    TraceFile::Counter counter;
    bool counts = false;
    for (ProtoField field; fields.next(field);) {
      if (field.number == track::kUuid) uuid = field.value;
      if (field.number == track::kName) counter.name = field.bytes;
      if (field.number != track::kCounter) continue;
      counts = true;
      ProtoFields parts(field.bytes);
      for (ProtoField part; parts.next(part);)
        if (part.number == track::kUnitName) counter.unit = part.bytes;
      if (parts.damaged()) return false;
    }
    if (counts && !fields.damaged()) file_.counters[uuid] = std::move(counter);
    return !fields.damaged();
  }

  bool snapshot(std::string_view bytes) {
    ProtoFields fields(bytes);
    std::uint64_t monotonic = 0, boottime = 0;
    for (ProtoField field; fields.next(field);) {
      if (field.number != clock::kClocks) continue;
      ProtoFields one(field.bytes);
      std::uint64_t id = 0, time = 0;
      for (ProtoField part; one.next(part);) {
        if (part.number == clock::kId) id = part.value;
        if (part.number == clock::kTimestamp) time = part.value;
      }
      if (id == clock::kMonotonic) monotonic = time;
      if (id == clock::kBoottime) boottime = time;
    }
    boottime_offset_ = boottime - monotonic;
    return !fields.damaged();
  }

  bool event(std::string_view bytes) {
    ProtoFields fields(bytes);
    std::uint64_t category = 0, type = 0, track = 0, value = 0;
    std::string_view name;
    Annotations notes;
    for (ProtoField field; fields.next(field);) {
      if (field.number == event::kCategory) category = field.value;
      if (field.number == event::kType) type = field.value;
      if (field.number == event::kTrack) track = field.value;
      if (field.number == event::kName) name = field.bytes;
      if (field.number == event::kValue) value = field.value;
      if (field.number == event::kAnnotation && !annotation(field.bytes, notes)) return false;
    }
    if (fields.damaged()) return false;
    if (type == event::kCounter) {
      const auto counter = file_.counters.find(track);
      if (counter == file_.counters.end()) return false;
      counter->second.values.push_back(std::bit_cast<double>(value));
      return true;
    }
    if (category == 0 || category > kCategories.size()) return category == 0;
    switch (static_cast<Category>(category - 1)) {
      case Category::job: return job(notes);
      case Category::wait: each_note_of_wait(file_.waits.emplace_back(), notes); return true;
      case Category::ioctl: each_note_of_call(file_.calls.emplace_back(), notes); return true;
      case Category::recording:
        each_note_of_counts(file_.counts, notes);
        file_.ended = notes.number("ended") != 0;
        file_.has_counts = true;
        return true;
      case Category::queue: return true;
      case Category::process: file_.workloads[notes.number32("pid")] = std::string(notes.text("workload")); return true;
      case Category::mark: file_.marks.emplace_back(name); return true;
      case Category::client: file_.clients.emplace_back(name); return true;
    }
    return false;
  }

  static bool annotation(std::string_view bytes, Annotations& notes) {
    ProtoFields fields(bytes);
    std::uint64_t name = 0, number = 0;
    std::string_view text;
    for (ProtoField field; fields.next(field);) {
      if (field.number == annotation::kNameId) name = field.value;
      if (field.number == annotation::kUnsigned || field.number == annotation::kSigned) number = field.value;
      if (field.number == annotation::kText) text = field.bytes;
    }
    if (fields.damaged() || name == 0 || name > kNotes.size()) return false;
    notes.numbers[name - 1] = number;
    notes.texts[name - 1] = text;
    return true;
  }

  bool job(const Annotations& notes) {
    Job job;
    if (!named<JobSource, 4>(notes.text("source"), job.source) ||
        !named<JobOutcome, 6>(notes.text("outcome"), job.outcome) ||
        !named<JobClass, 6>(notes.text("class"), job.engine_class))
      return false;
    if (const std::string_view hold = notes.text("held_by"); !hold.empty() && !named<JobHold, 5>(hold, job.hold))
      return false;
    job.instance = job.source == JobSource::i915 ? static_cast<int>(notes.number("instance")) : -1;
    each_note_of_job(job, notes);
    job.error = static_cast<int>(notes.number("error"));
    job.preempted = notes.number("preempted") != 0;
    file_.jobs.push_back(job);
    return true;
  }

  bool switches(std::string_view bytes) {
    ProtoFields fields(bytes);
    CpuSwitch found;
    for (ProtoField field; fields.next(field);) {
      if (field.number == ftrace::kCpu) found.cpu = static_cast<std::uint32_t>(field.value);
      if (field.number != ftrace::kEvent) continue;
      ProtoFields event(field.bytes);
      for (ProtoField part; event.next(part);) {
        if (part.number == ftrace::kTimestamp) found.time_ns = part.value - boottime_offset_;
        if (part.number != ftrace::kSwitch) continue;
        ProtoFields values(part.bytes);
        for (ProtoField value; values.next(value);) {
          each_field_of_switch(found, [&](std::uint32_t number, auto& member) {
            if (number != value.number) return;
            if constexpr (requires { member.view(); })
              member = value.bytes;
            else
              member = static_cast<std::decay_t<decltype(member)>>(value.value);
          });
        }
        if (values.damaged()) return false;
      }
      if (event.damaged()) return false;
    }
    if (fields.damaged()) return false;
    file_.switches.push_back(found);
    return true;
  }

  TraceFile file_;
  std::uint64_t boottime_offset_ = 0;
  bool known_ = false;
};

void find_times(TraceFile& file) {
  std::uint64_t first = ~std::uint64_t{0}, last = 0;
  const auto see = [&](std::uint64_t time) {
    if (time == 0) return;
    first = std::min(first, time);
    last = std::max(last, time);
  };
  for (const Job& job : file.jobs)
    for (const std::uint64_t time : {job.submit_ns, job.start_ns, job.end_ns}) see(time);
  for (const FenceWait& wait : file.waits) {
    see(wait.begin_ns);
    see(wait.end_ns);
  }
  for (const IoctlCall& call : file.calls) {
    see(call.begin_ns);
    see(call.end_ns);
  }
  file.first_ns = first <= last ? first : 0;
  file.last_ns = last;
}

}  // namespace

std::optional<TraceFile> read_trace(std::string_view bytes) {
  Reader reader;
  TraceFile& file = reader.file();
  ProtoFields packets(bytes);
  for (;;) {
    const std::uint64_t at = bytes.size() - packets.left();
    ProtoField field;
    if (!packets.next(field)) {
      if (!packets.damaged()) break;
      // What begins as a packet and does not end, ends with the file; anything else is no packet.
      if (static_cast<unsigned char>(bytes[at]) == (kTracePacket << 3 | 2))
        file.cut_off_at = at;
      else if (!file.damaged_at)
        file.damaged_at = at;
      break;
    }
    if (field.number == kTracePacket && reader.packet(field.bytes)) continue;
    ++file.damaged;
    if (!file.damaged_at) file.damaged_at = at;
  }
  if (!reader.known()) return std::nullopt;
  std::ranges::stable_sort(file.jobs, [](const Job& a, const Job& b) { return a.submit_ns < b.submit_ns; });
  find_times(file);
  return std::move(file);
}

}  // namespace igpu::exporter
