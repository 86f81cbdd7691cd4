// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "igpu/missing.h"
#include "igpu/model.h"

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

}  // namespace igpu::exporter
