// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "trace/perfetto_fields.h"
#include "trace/trace_file.h"
#include "view/format/proto.h"

namespace igpu::exporter {
namespace {

using namespace perfetto;

constexpr std::size_t kFlushAt = std::size_t{1} << 18;
constexpr std::size_t kLanes = 64;      // of one name; jobs beyond them overlap
constexpr std::size_t kNames = 16'384;  // of tracks, and threads; then they are described again
constexpr std::uint64_t kSequence = 1;
constexpr std::uint64_t kThreadTracks = std::uint64_t{1} << 40;

class Notes {
 public:
  explicit Notes(ProtoWriter& proto) : proto_(proto) {}
  // Zero and "" are left out: they are what the reader takes a missing one for.
  void number(Note note, std::uint64_t value) const {
    if (value != 0) write(note, 0, [&] { proto_.number(annotation::kUnsigned, value); });
  }
  void signed_number(Note note, std::int64_t value) const {
    write(note, 0, [&] { proto_.number(annotation::kSigned, static_cast<std::uint64_t>(value)); });
  }
  void text(Note note, std::string_view value) const {
    // Characters that are not valid take three bytes each.
    if (!value.empty()) write(note, 3 * value.size(), [&] { proto_.text(annotation::kText, value); });
  }

  template <class Value>
  void operator()(Note note, const Value& value) const {
    if constexpr (requires { value.view(); })
      text(note, value.view());
    else
      number(note, value);
  }

 private:
  template <class Fill>
  void write(Note note, std::size_t text, Fill&& fill) const {
    const auto content = [&] {
      proto_.number(annotation::kNameId, note.index + 1);
      fill();
    };
    const std::size_t most = text + 2 * ProtoWriter::kField;
    if (most <= ProtoWriter::kShort)
      proto_.short_message(event::kAnnotation, most, content);
    else
      proto_.message(event::kAnnotation, content);
  }
  ProtoWriter& proto_;
};

template <class Fill>
void write_packet(std::string& buffer, Fill&& fill) {
  write_proto(buffer, [&](ProtoWriter& proto) { proto.message(kTracePacket, [&] { fill(proto); }); });
}

void set_name_of_ring(std::string& name, const Job& job) {
  name.assign(job.device.view());
  if (!name.empty()) name += ' ';
  name.append(job.ring.empty() ? to_string(job.source) : job.ring.view());
}

void set_name_of_process(std::string& name, std::string_view comm, std::uint32_t pid) {
  std::array<char, 16> digits;
  const char* const end = std::to_chars(digits.begin(), digits.end(), pid).ptr;
  name.assign(comm.empty() ? std::string_view("pid") : comm);
  name += ' ';
  name.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

}  // namespace

PerfettoWriter::PerfettoWriter(Output output, const TraceClocks& clocks)
    : output_(std::move(output)), boottime_offset_(clocks.boottime_ns - clocks.monotonic_ns) {
  write_packet(buffer_, [&](ProtoWriter& proto) {
    proto.message(packet::kClockSnapshot, [&] {
      const auto reading = [&](std::uint64_t id, std::uint64_t time) {
        proto.message(clock::kClocks, [&] {
          proto.number(clock::kId, id);
          proto.number(clock::kTimestamp, time);
        });
      };
      reading(clock::kRealtime, clocks.realtime_ns);
      reading(clock::kMonotonic, clocks.monotonic_ns);
      reading(clock::kBoottime, clocks.boottime_ns);
    });
    proto.number(packet::kSequence, kSequence);
  });
  write_packet(buffer_, [&](ProtoWriter& proto) {
    proto.number(packet::kSequence, kSequence);
    proto.number(packet::kSequenceFlags, kStateCleared);
    proto.message(packet::kDefaults, [&] { proto.number(kDefaultsClock, clock::kMonotonic); });
    proto.message(packet::kInternedData, [&] {
      const auto names = [&](std::uint32_t field, const auto& all) {
        for (std::size_t i = 0; i < all.size(); ++i)
          proto.message(field, [&] {
            proto.number(interned::kId, i + 1);
            proto.text(interned::kName, all[i]);
          });
      };
      names(interned::kCategories, kCategories);
      names(interned::kAnnotationNames, kNotes);
    });
  });
}

void PerfettoWriter::flush() {
  output_(buffer_);
  bytes_ += buffer_.size();
  buffer_.clear();
}

template <class Fill>
void PerfettoWriter::packet(std::uint64_t time, Fill&& fill) {
  write_packet(buffer_, [&](ProtoWriter& proto) {
    proto.number(packet::kTimestamp, time);
    proto.number(packet::kSequence, kSequence);
    proto.number(packet::kSequenceFlags, kNeedsState);
    proto.message(packet::kTrackEvent, [&] { fill(proto); });
  });
  if (buffer_.size() >= kFlushAt) flush();
}

template <class Fill>
void PerfettoWriter::slice(std::uint64_t track, Category category, std::uint64_t begin, std::uint64_t end,
                           std::string_view name, Fill&& notes) {
  const bool has_end = end > begin;
  packet(begin, [&](ProtoWriter& proto) {
    proto.number(event::kType, has_end ? event::kBegin : event::kInstant);
    proto.number(event::kTrack, track);
    proto.number(event::kCategory, static_cast<std::uint64_t>(category) + 1);
    proto.text(event::kName, name);
    notes(Notes(proto));
  });
  if (!has_end) return;
  packet(end, [&](ProtoWriter& proto) {
    proto.number(event::kType, event::kEnd);
    proto.number(event::kTrack, track);
  });
}

template <class Fill>
std::uint64_t PerfettoWriter::describe(std::uint64_t track, Fill&& fill) {
  write_packet(buffer_, [&](ProtoWriter& proto) {
    proto.number(packet::kSequence, kSequence);
    proto.message(packet::kTrackDescriptor, [&] {
      proto.number(track::kUuid, track);
      fill(proto);
    });
  });
  return track;
}

// Slices of one track nest; these may overlap. Tracks of one name are shown as one, with as many rows as they need.
std::uint64_t PerfettoWriter::lane(const std::string& name, std::uint64_t begin, std::uint64_t end) {
  if (lanes_.size() >= kNames) lanes_.clear();
  std::vector<Lane>& lanes = lanes_[name];
  const auto free = std::ranges::find_if(lanes, [&](const Lane& lane) { return lane.last_end <= begin; });
  if (free != lanes.end()) {
    free->last_end = end;
    return free->track;
  }
  if (lanes.size() >= kLanes) return lanes.front().track;
  lanes.push_back({next_track_++, end});
  return describe(lanes.back().track, [&](ProtoWriter& proto) { proto.text(track::kName, name); });
}

std::uint64_t PerfettoWriter::thread_track(std::uint32_t pid, std::uint32_t tid) {
  if (const auto known = threads_.find(tid); known != threads_.end()) return known->second;
  if (threads_.size() >= kNames) threads_.clear();
  threads_[tid] = kThreadTracks + next_track_++;
  return describe(threads_[tid], [&](ProtoWriter& proto) {
    proto.message(track::kThread, [&] {
      proto.number(track::kThreadPid, pid);
      proto.number(track::kThreadTid, tid);
    });
  });
}

void PerfettoWriter::add(const Job& job) {
  set_name_of_ring(ring_, job);
  set_name_of_process(name_, job.comm.view(), job.pid);
  const std::uint64_t start = job.start_ns != 0 ? job.start_ns : job.submit_ns;
  slice(lane(ring_, start, std::max(start, job.end_ns)), Category::job, start, job.end_ns, name_,
        [&](const Notes& notes) {
          notes.text("source", to_string(job.source));
          notes.text("outcome", to_string(job.outcome));
          if (job.hold != JobHold::nothing) notes.text("held_by", to_string(job.hold));
          notes.text("class", to_string(job.engine_class));
          if (job.instance >= 0) notes.signed_number("instance", job.instance);
          each_note_of_job(job, notes);
          if (job.error != 0) notes.signed_number("error", job.error);
          notes.number("preempted", job.preempted ? 1 : 0);
        });
  if (job.start_ns <= job.submit_ns) return;
  ring_ += " queue";
  slice(lane(ring_, job.submit_ns, job.start_ns), Category::queue, job.submit_ns, job.start_ns, name_,
        [](const Notes&) {});
}

void PerfettoWriter::add(const FenceWait& wait) {
  slice(thread_track(wait.pid, wait.tid), Category::wait, wait.begin_ns, wait.end_ns, "fence wait",
        [&](const Notes& notes) { each_note_of_wait(wait, notes); });
}

void PerfettoWriter::add(const IoctlCall& call) {
  slice(thread_track(call.pid, call.tid), Category::ioctl, call.begin_ns, call.end_ns, "ioctl",
        [&](const Notes& notes) { each_note_of_call(call, notes); });
}

void PerfettoWriter::add(const CpuSwitch& cpu_switch) {
  write_packet(buffer_, [&](ProtoWriter& proto) {
    proto.message(packet::kFtraceEvents, [&] {
      proto.number(ftrace::kCpu, cpu_switch.cpu);
      proto.message(ftrace::kEvent, [&] {
        proto.number(ftrace::kTimestamp, cpu_switch.time_ns + boottime_offset_);
        proto.number(ftrace::kPid, static_cast<std::uint32_t>(cpu_switch.previous_tid));
        proto.message(ftrace::kSwitch, [&] {
          each_field_of_switch(cpu_switch, [&](std::uint32_t field, const auto& value) {
            if constexpr (requires { value.view(); })
              proto.text(field, value.view());
            else
              proto.number(field, static_cast<std::uint64_t>(std::int64_t{value}));
          });
        });
      });
    });
  });
  if (buffer_.size() >= kFlushAt) flush();
}

void PerfettoWriter::add(const JobProcess& process) {
  slice(lane("processes", process.time_ns, process.time_ns), Category::process, process.time_ns, 0, process.workload,
        [&](const Notes& notes) {
          notes.number("pid", process.pid);
          notes.text("workload", process.workload);
        });
}

void PerfettoWriter::add_counts(const JobRecorderCounts& counts, std::uint64_t now_ns, bool ended) {
  slice(lane("recording", now_ns, now_ns), Category::recording, now_ns, 0, "recording", [&](const Notes& notes) {
    each_note_of_counts(counts, notes);
    notes.number("ended", ended ? 1 : 0);
  });
}

std::uint64_t PerfettoWriter::counter_track(std::string_view name, std::string_view unit) {
  return describe(next_track_++, [&](ProtoWriter& proto) {
    proto.text(track::kName, name);
    proto.message(track::kCounter, [&] {
      if (!unit.empty()) proto.text(track::kUnitName, unit);
    });
  });
}

void PerfettoWriter::add_value(std::uint64_t track, std::uint64_t time_ns, double value) {
  packet(time_ns, [&](ProtoWriter& proto) {
    proto.number(event::kType, event::kCounter);
    proto.number(event::kTrack, track);
    proto.real(event::kValue, value);
  });
}

void PerfettoWriter::add_mark(const std::string& track, std::string_view text, std::uint64_t time_ns) {
  slice(lane(track, time_ns, time_ns), Category::mark, time_ns, 0, text.empty() ? track : text, [](const Notes&) {});
}

void PerfettoWriter::add_client(const Flight::Client& client) {
  const auto begin = static_cast<std::uint64_t>(client.first.count());
  const auto end = static_cast<std::uint64_t>(client.last.count());
  set_name_of_process(name_, client.comm, client.pid);
  slice(lane(client.device + " clients", begin, end), Category::client, begin, end, name_, [&](const Notes& notes) {
    notes.number("client", client.id);
    notes.number("pid", client.pid);
    notes.text("device", client.device);
  });
}

}  // namespace igpu::exporter
