// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

namespace igpu::exporter {

// A POSIX extended regular expression that must match a whole text.
class ExtendedRegex {
 public:
  explicit ExtendedRegex(const std::string& pattern);  // throws std::invalid_argument
  ~ExtendedRegex();
  ExtendedRegex(ExtendedRegex&&) noexcept;
  ExtendedRegex& operator=(ExtendedRegex&&) noexcept;

  bool matches(const std::string& text) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace igpu::exporter
