// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "igpu/export.h"
#include "igpu/reading.h"
#include "igpu/snapshot.h"

// The values of a snapshot by name, for programs that choose them at run time: "engine.busy", "frequency.rp0",
// "power.mean". docs/library.md lists the names; they are those of the members in igpu/snapshot.h.
namespace igpu {

struct FieldLabel {
  std::string_view name;  // of the metric's label: "gt", "engine", "domain"
  std::string value;
};

struct FieldValue {
  std::vector<FieldLabel> labels;  // which row; empty: of the GPU itself
  Reading<double> value = Absent{};
};

struct FieldName {
  std::string_view name;  // "engine.busy"
  std::string_view unit;  // "ratio", "hertz"; "": a plain number
};

// All that values() knows.
IGPU_API std::vector<FieldName> field_names();

// One entry for each row. Without rows: why. Throws InvalidOption if there is no such name.
IGPU_API Reading<std::vector<FieldValue>> values(const Snapshot& snapshot, std::string_view name);

// The value of the GPU as a whole, by the rules of `query` and the page: of "power.mean" what it draws, of
// "engine.busy" the busiest class. With a word in the name that of some rows: "engine.video.busy",
// "power.package.mean", "temperature.vram.value". Throws InvalidOption if there is no such name.
IGPU_API Reading<double> value(const Snapshot& snapshot, std::string_view name);

}  // namespace igpu
