// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/model.h"
#include "view/format/json_writer.h"

namespace igpu::exporter {

// Summary of a GPU, or of an NPU, for people, in everyday units: shown by `stats` and by the page at "/".

struct SummaryRow {
  std::string name;          // "gt0 vcs0 video"; from labels, so it may contain any text that a driver or process chose
  std::string value;         // "  36.8 %"; aligned within a section
  std::string_view field{};  // its path, in a section that only the table of fields makes
};
struct SummarySection {
  std::string_view title;  // "engines"
  std::vector<SummaryRow> rows;
};
struct SummaryProcess {
  std::string pid, comm;
  double busy = 0;                   // sum over its engine classes
  std::vector<std::string> classes;  // "video 26.4 %"
  double resident_bytes = 0;
};
struct GpuSummary {
  bool suspended = false;
  std::vector<SummarySection> sections;   // without empty ones
  std::vector<SummaryProcess> processes;  // by use, then by memory
};

GpuSummary summarize(const GpuModel& gpu);
std::vector<SummarySection> sections_of(const GpuModel& gpu);
std::vector<SummarySection> sections_of(const snapshot::Npu& npu);
// Without what the page with its script and `top` draw in ways of their own: a field with a title that is new is on
// them without a change there.
std::vector<SummarySection> undrawn(std::vector<SummarySection> sections);

// Of a GPU that neither i915 nor xe drives: why, and what helps, in words and as a command; nothing for a guest's.
struct UnboundHelp {
  std::string hint, command;
};
std::string why_unbound(const snapshot::Unbound& gpu);
UnboundHelp help_for(const snapshot::Unbound& gpu);
std::string line_of(const snapshot::Unbound& gpu);  // which and why; printable
inline bool is_guests(const snapshot::Unbound& gpu) { return gpu.reason == "guest"; }

// "Lunar Lake NPU"; "NPU" if the name is not known.
std::string name_of(const snapshot::Npu& npu);
std::string name_of(const snapshot::Unbound& gpu);

// "vf1 xe-vfio-pci".
std::string name_of(const snapshot::VirtualFunction& function);
// "video 20.1 %, copy 3.0 %"; "idle"; "-" if its engine time is not known.
std::string loads_of(const snapshot::VirtualFunction& function);
// "4 of 24 enabled"; "" for a GPU without SR-IOV.
std::string functions_enabled(const GpuModel& gpu);

// "380.1 MiB", aligned as the values of rows.
std::string human_bytes(double value);

// Texts for a machine without an Intel GPU.

// That there is no GPU, or a line for each that is on the bus without i915 or xe.
std::string without_gpus(const HostModel& host);
// Instead of an empty table.
std::string nothing_to_show(const HostModel& host);
inline bool shows_devices(const HostModel& host) { return !host.gpus.empty() || !host.npus.empty(); }

inline constexpr std::string_view kNoGpu = "No Intel GPU found";
// One line, for standard error or a table.
std::string no_gpu_line();

struct NoGpuAdvice {
  std::string why;
  std::string_view look;  // a line to copy, which lists GPUs
  std::string_view then;  // what helps, by what it shows
};
NoGpuAdvice no_gpu_advice(const std::string& sysfs_root);
// "no_gpu": cause, command and hint.
void write_no_gpu(JsonWriter& json, const std::string& sysfs_root);

// A channel (snapshot::Channel) over time. What is constant about one is its number of video jobs a second: pictures,
// or a multiple of them (docs/tracing.md, "How many jobs a picture is").
struct ChannelRate {
  std::string name;
  std::vector<std::string> cards;
  std::optional<double> rate;     // jobs a second over the last five seconds, or since the reading before
  std::optional<double> nominal;  // the highest constant rate of the last quarter of an hour
  double stalled = 0;             // seconds without a job; 0 unless it has a nominal rate
};

class ChannelRates {
 public:
  // A reading; earlier ones and those within half a second of the last are ignored.
  void note(const HostModel& host, Seconds now);
  const std::vector<ChannelRate>& list() const { return list_; }  // by name, of the last reading

 private:
  struct Reading {
    double at, jobs;
  };
  struct Course {
    std::deque<Reading> recent;  // of the last five seconds, and the one before
    std::deque<Reading> rates;   // jobs: a second; one for every five seconds
    double moved = 0;            // when a job was last done
    std::optional<double> nominal;
    double held = 0;  // when it last had the nominal rate

    ChannelRate next(const snapshot::Channel& channel, double now);
  };
  double last_ = 0;
  std::map<std::string, Course, std::less<>> courses_;
  std::vector<ChannelRate> list_;
};

}  // namespace igpu::exporter
