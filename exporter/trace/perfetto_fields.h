// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

// Numbers of the fields of Perfetto's trace format that this program uses (protos/perfetto/trace/*.proto).
namespace igpu::exporter::perfetto {

inline constexpr std::uint32_t kTracePacket = 1;
namespace packet {
inline constexpr std::uint32_t kFtraceEvents = 1, kClockSnapshot = 6, kTimestamp = 8, kSequence = 10, kTrackEvent = 11,
                               kInternedData = 12, kSequenceFlags = 13, kDefaults = 59, kTrackDescriptor = 60;
}
inline constexpr std::uint32_t kDefaultsClock = 58;
inline constexpr std::uint64_t kStateCleared = 1, kNeedsState = 2;
namespace clock {
inline constexpr std::uint32_t kClocks = 1, kId = 1, kTimestamp = 2;
inline constexpr std::uint64_t kRealtime = 1, kMonotonic = 3, kBoottime = 6;
}  // namespace clock
namespace track {
inline constexpr std::uint32_t kUuid = 1, kName = 2, kThread = 4, kParent = 5, kCounter = 8, kUnitName = 6;
inline constexpr std::uint32_t kThreadPid = 1, kThreadTid = 2;
}  // namespace track
namespace event {
inline constexpr std::uint32_t kCategory = 3, kAnnotation = 4, kType = 9, kTrack = 11, kName = 23, kValue = 44;
inline constexpr std::uint64_t kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4;
}  // namespace event
namespace annotation {
inline constexpr std::uint32_t kNameId = 1, kUnsigned = 3, kSigned = 4, kText = 6;
}
namespace interned {
inline constexpr std::uint32_t kCategories = 1, kAnnotationNames = 3, kId = 1, kName = 2;
}
namespace ftrace {
inline constexpr std::uint32_t kCpu = 1, kEvent = 2, kTimestamp = 1, kPid = 2, kSwitch = 4;
inline constexpr std::uint32_t kPreviousComm = 1, kPreviousPid = 2, kPreviousPriority = 3, kPreviousState = 4,
                               kNextComm = 5, kNextPid = 6, kNextPriority = 7;
}  // namespace ftrace

// Categories of our events; the interned id of a category is its index + 1.
enum class Category : std::uint8_t { job, queue, wait, ioctl, recording, process, mark, client };
inline constexpr std::array<std::string_view, 8> kCategories = {"job",       "queue",   "wait", "ioctl",
                                                                "recording", "process", "mark", "client"};

template <class... Names>
constexpr std::array<std::string_view, sizeof...(Names)> array_of(Names... names) {
  return {names...};
}

// Names of our annotations; the interned id of a name is its index + 1.
inline constexpr auto kNotes = array_of(
    "source", "outcome", "held_by", "class", "instance", "key_context", "key_seqno", "context", "held_by_context",
    "held_by_seqno", "client", "pid", "tid", "comm", "device", "ring", "submit_ns", "dependency_ns", "handed_over_ns",
    "start_ns", "end_ns", "error", "preempted", "begin_ns", "command", "events", "lost", "damaged", "unknown",
    "unmatched", "submitted", "recorded", "filtered", "not_sampled", "rate_limited", "evicted", "ended", "workload");
inline constexpr std::size_t kLeastNotes = kNotes.size() - 1;  // a file with fewer cannot be read

// The index of a name in kNotes; another name does not compile.
struct Note {
  consteval Note(const char* name) {  // NOLINT(google-explicit-constructor)
    while (index < kNotes.size() && kNotes[index] != name) ++index;
    if (index == kNotes.size()) throw "no such annotation";
  }
  std::size_t index = 0;
};

// What the writer writes and the reader reads: note(name, member) for each annotation that is a member.
template <class AJob, class Each>
void each_note_of_job(AJob& job, Each&& note) {
  note("key_context", job.key.context);
  note("key_seqno", job.key.seqno);
  note("context", job.context);
  note("held_by_context", job.held_by.context);
  note("held_by_seqno", job.held_by.seqno);
  note("client", job.client);
  note("pid", job.pid);
  note("tid", job.tid);
  note("comm", job.comm);
  note("device", job.device);
  note("ring", job.ring);
  note("submit_ns", job.submit_ns);
  note("dependency_ns", job.dependency_ns);
  note("handed_over_ns", job.handed_over_ns);
  note("start_ns", job.start_ns);
  note("end_ns", job.end_ns);
}
template <class Wait, class Each>
void each_note_of_wait(Wait& wait, Each&& note) {
  note("pid", wait.pid);
  note("tid", wait.tid);
  note("key_context", wait.fence.context);
  note("key_seqno", wait.fence.seqno);
  note("begin_ns", wait.begin_ns);
  note("end_ns", wait.end_ns);
}
template <class Call, class Each>
void each_note_of_call(Call& call, Each&& note) {
  note("pid", call.pid);
  note("tid", call.tid);
  note("command", call.command);
  note("begin_ns", call.begin_ns);
  note("end_ns", call.end_ns);
}
template <class Counts, class Each>
void each_note_of_counts(Counts& counts, Each&& note) {
  note("events", counts.events);
  note("lost", counts.lost);
  note("damaged", counts.damaged);
  note("unknown", counts.unknown);
  note("unmatched", counts.unmatched);
  note("submitted", counts.submitted);
  note("recorded", counts.recorded);
  note("filtered", counts.filtered);
  note("not_sampled", counts.not_sampled);
  note("rate_limited", counts.rate_limited);
  note("evicted", counts.evicted);
}
// Likewise the fields of ftrace's own event.
template <class Switch, class Each>
void each_field_of_switch(Switch& cpu_switch, Each&& field) {
  field(ftrace::kPreviousComm, cpu_switch.previous_comm);
  field(ftrace::kPreviousPid, cpu_switch.previous_tid);
  field(ftrace::kPreviousPriority, cpu_switch.previous_priority);
  field(ftrace::kPreviousState, cpu_switch.previous_state);
  field(ftrace::kNextComm, cpu_switch.next_comm);
  field(ftrace::kNextPid, cpu_switch.next_tid);
  field(ftrace::kNextPriority, cpu_switch.next_priority);
}

}  // namespace igpu::exporter::perfetto
