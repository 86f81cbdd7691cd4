// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/device.h"
#include "igpu/feature.h"
#include "igpu/model.h"
#include "view/format/json_writer.h"

namespace igpu::exporter {

// Missing features, grouped by what fixes them: one missing permission often disables ten features on each of three
// GPUs.

// One thing to do. Text and lines are apart, so that what is copied runs as it is.
struct GrantStep {
  std::string text;                // a sentence before the lines; "" if they need none
  std::vector<std::string> lines;  // each a command, perhaps of several lines of text
};

// Where the program runs, and how missing permissions are granted there.
struct PlaceOfGrants {
  std::string kind;  // "systemd unit"
  std::string unit;  // "" unless it is one
  std::vector<GrantStep> steps = {};
  std::string title = {};           // "2 commands grant 14 values:"
  std::string sysfs_root = "/sys";  // where GPUs were searched
};
// The title of steps in this place that bring so many of the missing values, and so many optional ones.
std::string title_of(std::span<const GrantStep> steps, const std::string& place, std::size_t granted,
                     std::size_t missing, std::size_t optional);

struct Fix {
  std::string hint;                      // in words; "" if nothing can be done
  std::vector<std::string> causes;       // without duplicates
  std::vector<const Finding*> findings;  // the missing features that it brings
  std::vector<const Finding*> optional;  // the optional ones
};

// Whether an optional feature could be had.
bool is_optional_fix(const Finding& finding);
// What brings the findings that are missing, grouped by hint, in order of appearance, with what is optional and needs
// the same. optional: instead, what brings only optional ones. They point into findings.
std::vector<Fix> fixes_for(std::span<const Finding> findings, bool optional = false);
// The names of the features, each once, however many GPUs lack it: "error_state, wedged".
std::string names_of(const Fix& fix);
// "error_state of 0000:00:02.0, 0000:03:00.0: GPU hangs captured by the kernel.", one line for each feature.
std::vector<std::string> gains_of(const Fix& fix);

// Hangs are what the fewest look for, but identity, which reports them, is the first collector.
std::vector<Finding> most_useful_first(std::span<const Finding> findings);

// What a GPU wastes although no feature is missing: it may never sleep, its link is slower than card and slot, it is
// busy at a low clock.

struct Advice {
  std::string device;   // PCI address
  bool wrong = true;    // otherwise it is as intended, and worth knowing
  std::string text;     // a sentence without full stop
  std::string command;  // to copy; "" if there is none
  bool names_programs = false;
};

// A file below the root of sysfs; nullopt: not there, or not readable. Only files whose reading wakes nothing are asked
// for.
using ReadSysfs = std::function<std::optional<std::string>(const std::string& path)>;

// gpus: the same as models, for what no page tells.
std::vector<Advice> advice_for(std::span<const GpuModel> models, std::span<const Gpu> gpus, const ReadSysfs& read);

// Shared by `list --json` and `doctor --json`. Names are those of /metrics: the labels of
// intel_gpu_info, and feature and reason of intel_gpu_exporter_feature_available.

// Members of an open object: device, name, driver, kind, card, render_node, device_id, revision, numa_node,
// virtual_function. Unknown ones are omitted.
void write_gpu(JsonWriter& json, const Gpu& gpu);

// "vfs" of a GPU with SR-IOV: enabled, total, and for each virtual function the labels of intel_gpu_vf_info.
void write_functions(JsonWriter& json, const GpuModel& gpu);

// "unbound": GPUs that no driver has, with what doctor says; nothing without one.
void write_unbound(JsonWriter& json, std::span<const snapshot::Unbound> gpus);
// "npus": one object for each, with the labels of intel_npu_info. Their features are the machine's.
void write_npus(JsonWriter& json, std::span<const snapshot::Npu> npus);

// "features": one object for each finding of the device ("": of the machine).
void write_features(JsonWriter& json, std::span<const Finding> findings, std::string_view device);

// Shared by `doctor --json` and the API.

// Of a program that keeps running: what is missing changes, the place does not. May be empty.
using FindGrants = std::function<PlaceOfGrants(std::span<const Finding>)>;

struct DiagnosedMachine {
  std::vector<Gpu> gpus;
  std::vector<snapshot::Npu> npus;
  std::vector<snapshot::Unbound> unbound;
  // Both of the scrape, which must outlive this.
  std::span<const Finding> findings;
  std::span<const std::string_view> failed_collectors;  // the log says what failed
  PlaceOfGrants place;
  std::optional<std::vector<Advice>> advice = std::nullopt;  // what no missing feature tells; nullopt: not looked for

  std::size_t missing() const;  // features, failed collectors, and drivers of GPUs
  bool complete() const { return missing() == 0 && !(gpus.empty() && npus.empty()); }
  bool asleep() const;  // some features are unknown because a GPU sleeps
};

// Members of an open object: complete, missing, asleep, gpus, npus, unbound, machine, fixes, place, failed_collectors.
void write_diagnosis(JsonWriter& json, const DiagnosedMachine& machine);

}  // namespace igpu::exporter
