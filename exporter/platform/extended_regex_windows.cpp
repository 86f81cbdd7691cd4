// SPDX-License-Identifier: Apache-2.0
#include <regex>
#include <stdexcept>

#include "platform/extended_regex.h"

namespace igpu::exporter {

struct ExtendedRegex::State {
  std::regex expression;
};

ExtendedRegex::ExtendedRegex(const std::string& pattern) : state_(std::make_unique<State>()) {
  try {
    state_->expression.assign(pattern, std::regex::extended | std::regex::nosubs);
  } catch (const std::regex_error& error) {
    throw std::invalid_argument(error.what());
  }
}

ExtendedRegex::~ExtendedRegex() = default;
ExtendedRegex::ExtendedRegex(ExtendedRegex&&) noexcept = default;
ExtendedRegex& ExtendedRegex::operator=(ExtendedRegex&&) noexcept = default;

bool ExtendedRegex::matches(const std::string& text) const {
  try {
    return std::regex_match(text, state_->expression);
  } catch (const std::regex_error&) {  // too complex
    return false;
  }
}

}  // namespace igpu::exporter
