// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>

#include "format/json_writer.h"
#include "trace/job_report.h"
#include "trace/perfetto_writer.h"

namespace igpu::exporter {
namespace {

std::string quoted(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string trace_time(std::uint64_t ns, std::int64_t offset_ns) {
  const std::int64_t time = static_cast<std::int64_t>(ns) + offset_ns;
  std::string fraction = std::to_string(time < 0 ? -time % 1000 : time % 1000);
  fraction.insert(0, 3 - fraction.size(), '0');
  return (time < 0 && time > -1000 ? "-" : "") + std::to_string(time / 1000) + "." + fraction;
}

}  // namespace

std::string chrome_trace(const TraceFile& file, std::int64_t clock_offset_ns) {
  std::string text = "{\"traceEvents\":[";
  bool first = true;
  const auto event = [&](std::string_view name, std::string_view category, std::uint64_t begin, std::uint64_t end,
                         std::string_view process, std::string_view thread, const std::string& arguments) {
    if (!first) text += ',';
    first = false;
    text += "\n{\"name\":" + quoted(name) + ",\"cat\":" + quoted(category) +
            ",\"ph\":\"X\",\"ts\":" + trace_time(begin, clock_offset_ns) +
            ",\"dur\":" + trace_time(end > begin ? end - begin : 0, 0) + ",\"pid\":" + quoted(process) +
            ",\"tid\":" + quoted(thread) + ",\"args\":{" + arguments + "}}";
  };
  for (const Job& job : file.jobs) {
    const std::string_view device = job.device.empty() ? to_string(job.source) : job.device.view();
    const std::string name = std::string(job.comm.view()) + " " + std::to_string(job.pid);
    const std::string arguments = "\"outcome\":" + quoted(to_string(job.outcome)) +
                                  ",\"held_by\":" + quoted(to_string(job.hold)) + ",\"key\":\"" +
                                  std::to_string(job.key.context) + ":" + std::to_string(job.key.seqno) +
                                  "\",\"tid\":" + std::to_string(job.tid);
    const std::uint64_t start = job.start_ns != 0 ? job.start_ns : job.submit_ns;
    event(name, "job", start, job.end_ns, device, job.ring.view(), arguments);
    if (job.start_ns > job.submit_ns)
      event(name, "queue", job.submit_ns, job.start_ns, device, std::string(job.ring.view()) + " queue", "");
  }
  for (const FenceWait& wait : file.waits)
    event("fence wait", "wait", wait.begin_ns, wait.end_ns, std::to_string(wait.pid), std::to_string(wait.tid), "");
  for (const IoctlCall& call : file.calls)
    event("ioctl", "ioctl", call.begin_ns, call.end_ns, std::to_string(call.pid), std::to_string(call.tid),
          "\"command\":" + std::to_string(call.command));
  return text + "\n]}\n";
}

}  // namespace igpu::exporter
