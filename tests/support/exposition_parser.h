// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Reads pages of /metrics more strictly than any scraper does. Beyond what the formats forbid it refuses whatever a
// page of ours never needs, so that there is one way to write each thing: comments, blank lines, families without
// TYPE, HELP or samples, empty label values, changing label order, names with ':' and labels that start with '_',
// numbers with a leading '+', exemplars.
namespace igpu::test {

class ExpositionError : public std::runtime_error {
 public:
  ExpositionError(std::size_t line, const std::string& what)
      : std::runtime_error("line " + std::to_string(line) + ": " + what), line_(line) {}
  std::size_t line() const { return line_; }  // from 1

 private:
  std::size_t line_;
};

struct ExpositionSample {
  using Label = std::pair<std::string, std::string>;
  std::string name;
  std::vector<Label> labels;  // as written, escapes undone
  double value = 0;
  std::string value_text;
  std::optional<double> timestamp;  // as written: milliseconds (Prometheus text), seconds (OpenMetrics)
  std::size_t line = 0;

  std::string_view label(std::string_view label_name) const;  // "" if absent
};

struct ExpositionFamily {
  std::string name;  // as in the metadata
  std::string type;
  std::string unit;
  std::string help;  // escapes undone
  std::vector<ExpositionSample> samples;
};

struct Exposition {
  using LabelFilter = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  std::vector<ExpositionFamily> families;

  const ExpositionFamily* family(std::string_view name) const;
  // Samples of that name that have at least these labels.
  std::vector<const ExpositionSample*> find(std::string_view name, LabelFilter labels = {}) const;
  // The one such sample's value; nothing if there is none; std::logic_error if there are several.
  std::optional<double> value(std::string_view name, LabelFilter labels = {}) const;
};

// Prometheus text format 0.0.4; throws ExpositionError.
Exposition parse_prometheus_text(std::string_view page);
// OpenMetrics text 1.0; throws ExpositionError.
Exposition parse_openmetrics(std::string_view page);

}  // namespace igpu::test
