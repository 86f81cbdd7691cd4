// SPDX-License-Identifier: Apache-2.0
// The fields as views and programs see them: by name, with everyday units.
#include <algorithm>
#include <string>
#include <utility>

#include "igpu/error.h"
#include "igpu/model.h"
#include "igpu/words.h"
#include "model/fields.h"

namespace igpu {
namespace {

constexpr EverydayUnit kEveryday[] = {
    {"ratio", "%", "%", 100, 1, 1},
    {"hertz", "MHz", "MHz", 1e-6, 0, 0},
    {"watts", "W", "W", 1, 2, 1},
    {"joules", "J", "J", 1, 1, 0},
    {"celsius", "C", "°C", 1, 1, 0},
    {"rpm", "rpm", "rpm", 1, 0, 0},
    {"volts", "V", "V", 1, 3, 3},
    {"bytes", "MiB", "MiB", 1.0 / (1 << 20), 0, 0},
    {"bytes_per_second", "MiB/s", "MiB/s", 1.0 / (1 << 20), 0, 0},
    {"seconds", "s", "s", 1, 1, 1},
    {"transfers_per_second", "GT/s", "GT/s", 1e-9, 1, 1},
    {"lanes", "", "", 1, 0, 0},
    {"", "", "", 1, 0, 0},
};

GpuField named(const model::Field& field, std::string_view key) {
  GpuField made{std::string(field.path), std::string(field.title), field.path, std::string(key), field.unit, &field};
  if (key.empty()) return made;
  made.name.insert(made.name.find('.'), "." + std::string(key));
  return made;
}

std::string_view topic_of(const model::Field& field) { return field.path.substr(0, field.path.find('.')); }
bool is_of_gpu(const model::Field& field) { return field.one != nullptr || field.words != nullptr; }

// Words for rows that are not listed: few machines have them, or others sum them up.
constexpr std::string_view kMoreKeys[] = {
    "engine.media",    "frequency.media",  "memory.system",  "power.card",      "power.cores",
    "power.dram",      "power.psys",       "bandwidth.read", "bandwidth.write", "temperature.package",
    "voltage.package", "power_limit.card", "power_limit.cap"};

// What stands before the number in names of rows, by topic, separated by blanks.
constexpr std::pair<std::string_view, std::string_view> kNumbered[] = {
    {"engine", "rcs bcs vcs vecs ccs"},
    {"frequency", ""},
    {"rc6", ""},
    {"fan", ""},
    {"memory", "local system stolen-local stolen-system vram"},
    {"temperature", "temp vram_ch_"}};

// "vcs0", "local0", "1"; "3D" and "Copy 1" are engines of Windows, whose drivers may name them as they like.
bool has_number(std::string_view topic, std::string_view key) {
  if (topic == "engine" && key.starts_with("3D")) return true;
  const std::string_view stem = key.substr(0, key.find_last_not_of("0123456789") + 1);
  if (stem.size() == key.size()) return false;
  if (topic == "engine" && stem.ends_with(' ')) return true;
  for (auto [of, stems] : kNumbered) {
    if (of != topic) continue;
    do
      if (take_until(stems, ' ') == stem) return true;
    while (!stems.empty());
  }
  return false;
}

// Such a word, a listed one, or the name of a row with its number.
bool may_name_rows(const model::Field& first, std::string_view key) {
  const bool has_rows = !first.labels[first.is.empty() ? 0 : 1].empty();  // the last label says which field
  if (!has_rows || first.words != nullptr) return false;
  std::string_view listed = first.keys;
  while (!listed.empty())
    if (take_until(listed, ' ') == key) return true;
  return has_number(topic_of(first), key) || contains(kMoreKeys, std::string(topic_of(first)) + '.' + std::string(key));
}

}  // namespace

const EverydayUnit& everyday(std::string_view base_unit) {
  return *std::ranges::find_if(kEveryday,
                               [&](const EverydayUnit& unit) { return unit.base == base_unit || unit.base.empty(); });
}

std::span<const GpuField> gpu_fields() {
  static const std::vector<GpuField> kNamed = [] {
    std::vector<GpuField> all;
    for (const model::Field& field : model::fields()) {
      if (!is_of_gpu(field)) continue;
      all.push_back(named(field, ""));
      for (std::string_view rest = field.keys; !rest.empty();) {
        GpuField& made = all.emplace_back(named(field, take_until(rest, ' ')));
        // People watch the classes, but not the engines that copy; rows of other kinds are details.
        made.title.clear();
        if (topic_of(field) != "engine" || made.key == "copy") continue;
        made.title = made.key;
        made.title.front() += 'A' - 'a';
        std::ranges::replace(made.title, '_', ' ');
      }
    }
    return all;
  }();
  return kNamed;
}

std::optional<GpuField> gpu_field(std::string_view name) {
  const std::size_t dot = name.find('.');
  const std::string topic(name.substr(0, dot));
  const auto all = model::fields();
  const auto first = std::ranges::find_if(
      all, [&](const model::Field& field) { return is_of_gpu(field) && topic_of(field) == topic; });
  if (first == all.end()) return std::nullopt;
  const bool has_main = topic != "gpu";  // the first of the GPU's own values is no better than the others
  if (dot == name.npos) return has_main ? std::optional(named(*first, "")) : std::nullopt;
  if (const model::Field* const whole = model::field_at(name); whole != nullptr && is_of_gpu(*whole))
    return named(*whole, "");
  std::string_view key = name.substr(dot + 1);
  const model::Field* field = &*first;
  if (const std::size_t last = key.rfind('.'); last != key.npos) {
    field = model::field_at(topic + std::string(key.substr(last)));
    key = key.substr(0, last);
  }
  if (field == nullptr || !is_of_gpu(*field) || !may_name_rows(*first, key)) return std::nullopt;
  return named(*field, key);
}

Reading<Scalar> value_of(const GpuModel& gpu, const GpuField& of) {
  if (of.field->words != nullptr)
    return of.field->words(gpu).map([](const std::string& words) { return Scalar(words); });
  return of.field->one(gpu, of.key).map([&](double value) {
    return of.field->truth ? Scalar(std::string(value != 0 ? "yes" : "no")) : Scalar(value);
  });
}

Reading<std::vector<FieldValue>> values_of(const GpuModel& gpu, const GpuField& of) {
  if (of.field->values != nullptr) return of.field->values(gpu);
  if (of.field->one == nullptr) return Absent{};
  return std::vector{FieldValue{{}, of.field->one(gpu, of.key)}};
}

Reading<double> value(const Snapshot& snapshot, std::string_view name) {
  const std::optional<GpuField> found = gpu_field(name);
  if (!found || found->field->values == nullptr || found->field->one == nullptr)
    throw InvalidOption("there is no value \"" + std::string(name) + '"', "field_names() lists them");
  return found->field->one(snapshot, found->key);
}

std::string_view metric_of(std::string_view field) {
  const model::Field* const found = model::field_at(field);
  return found == nullptr ? std::string_view() : found->metric;
}

std::string_view feature_of(std::string_view field) {
  const model::Field* const found = model::field_at(field);
  return found == nullptr ? std::string_view() : found->why.feature;
}

std::vector<FieldName> field_names() {
  std::vector<FieldName> names;
  for (const model::Field& field : model::fields())
    if (field.values != nullptr) names.push_back({field.path, field.unit});
  return names;
}

Reading<std::vector<FieldValue>> values(const Snapshot& snapshot, std::string_view name) {
  const model::Field* const found = model::field_at(name);
  if (found == nullptr || found->values == nullptr)
    throw InvalidOption("there is no value \"" + std::string(name) + '"', "field_names() lists them");
  return found->values(snapshot);
}

}  // namespace igpu
