// SPDX-License-Identifier: Apache-2.0
#include <regex.h>

#include <array>
#include <stdexcept>

#include "platform/extended_regex.h"

namespace igpu::exporter {

struct ExtendedRegex::State {
  explicit State(const std::string& whole) {
    const int error = ::regcomp(&expression, whole.c_str(), REG_EXTENDED | REG_NOSUB);
    if (error == 0) return;
    std::array<char, 128> text{};
    ::regerror(error, &expression, text.data(), text.size());
    throw std::invalid_argument(text.data());
  }
  ~State() { ::regfree(&expression); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  regex_t expression{};
};

ExtendedRegex::ExtendedRegex(const std::string& pattern) : state_(std::make_unique<State>("^(" + pattern + ")$")) {}
ExtendedRegex::~ExtendedRegex() = default;
ExtendedRegex::ExtendedRegex(ExtendedRegex&&) noexcept = default;
ExtendedRegex& ExtendedRegex::operator=(ExtendedRegex&&) noexcept = default;

bool ExtendedRegex::matches(const std::string& text) const {
  return ::regexec(&state_->expression, text.c_str(), 0, nullptr, 0) == 0;
}

}  // namespace igpu::exporter
