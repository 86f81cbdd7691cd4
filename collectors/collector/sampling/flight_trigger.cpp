// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <charconv>
#include <span>
#include <vector>

#include "base/scan.h"
#include "collector/sampling/flight_recorder.h"
#include "igpu/device.h"
#include "igpu/duration.h"

namespace igpu::sampling {
namespace {

constexpr std::array kTriggers{FlightCause::engine_busy, FlightCause::throttled, FlightCause::idle_gap,
                               FlightCause::scrape_failed};
constexpr std::string_view kForms =
    "engine_busy{class=video}>0.98/5s, throttled/2s, idle_gap{class=video}>0.5s, scrape_failed";

// How many letters must be changed, added or left out.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

// A refusal: it follows the text.
std::string unknown(std::string_view what, std::string_view word, std::span<const std::string_view> allowed) {
  const auto nearest = std::ranges::min_element(
      allowed, [word](std::string_view a, std::string_view b) { return distance(word, a) < distance(word, b); });
  std::string text = "names \"" + std::string(word) + "\", which is no " + std::string(what);
  if (distance(word, *nearest) <= nearest->size() / 2) text += "; did you mean " + std::string(*nearest) + "?";
  text += " There are";
  for (const std::string_view name : allowed) text += (name == allowed.front() ? " " : ", ") + std::string(name);
  return text;
}

std::string malformed() { return "is not of one of the forms " + std::string(kForms); }

// The characters up to the first that is not of a word.
std::string_view take_word(std::string_view& text) {
  const auto end =
      std::ranges::find_if(text, [](char c) { return c != '_' && std::isalnum(static_cast<unsigned char>(c)) == 0; });
  const std::string_view word = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(word.size());
  return word;
}

bool take_length(std::string_view text, FlightTrigger& trigger) {
  const std::optional<Nanoseconds> length = parse_duration(text);
  trigger.length = length.value_or(Nanoseconds::zero());
  return trigger.length > Nanoseconds::zero();
}

}  // namespace

std::variant<FlightTrigger, std::string> parse_flight_trigger(std::string_view text) {
  const std::string_view name = take_word(text);
  const auto cause = std::ranges::find_if(kTriggers, [name](FlightCause known) { return to_string(known) == name; });
  if (cause == kTriggers.end()) {
    std::array<std::string_view, kTriggers.size()> names;
    std::transform(kTriggers.begin(), kTriggers.end(), names.begin(),
                   [](FlightCause known) { return to_string(known); });
    return unknown("trigger", name, names);
  }
  FlightTrigger trigger{.cause = *cause};
  const bool of_engines = *cause == FlightCause::engine_busy || *cause == FlightCause::idle_gap;
  if (of_engines && take_prefix(text, "{class=")) {
    const std::string_view wanted = take_word(text);
    std::array<std::string_view, kEngineClasses> labels;
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = to_string(static_cast<EngineClass>(i));
    const auto known = std::ranges::find(labels, wanted);
    if (known == labels.end()) return unknown("class of engines", wanted, labels);
    trigger.engine_class = *known;
    if (!take_prefix(text, "}")) return malformed();
  }
  switch (*cause) {
    case FlightCause::engine_busy: {
      if (!take_prefix(text, ">")) return malformed();
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), trigger.above);
      // Nothing is busier than all the time.
      if (error != std::errc() || !(trigger.above >= 0 && trigger.above < 1))
        return "has no share of the time behind the >: a number from 0 to less than 1";
      text.remove_prefix(static_cast<std::size_t>(end - text.data()));
      if (!take_prefix(text, "/") || !take_length(text, trigger)) return malformed();
      return trigger;
    }
    case FlightCause::throttled:
      if (!take_prefix(text, "/") || !take_length(text, trigger)) return malformed();
      return trigger;
    case FlightCause::idle_gap:
      if (!take_prefix(text, ">") || !take_length(text, trigger)) return malformed();
      return trigger;
    default:
      if (!text.empty()) return malformed();
      return trigger;
  }
}

std::string refusal_of_flight_trigger(std::string_view text) {
  const auto parsed = parse_flight_trigger(text);
  const std::string* const refusal = std::get_if<std::string>(&parsed);
  return refusal == nullptr ? std::string() : *refusal;
}

}  // namespace igpu::sampling
