// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

// What can be set. Each option of a collector is declared once, beside the collector; the command line, the
// environment, --help, METRICS.md and the tests read these descriptors.
namespace igpu {

// Type-erased: what a program needs to offer the option and to check a value. Static storage duration.
class OptionDescriptor {
 public:
  struct Text {
    std::string_view flag;           // without dashes: "collector.engines.xe-source"
    std::string_view default_value;  // as it would be written; "" for none
    std::string_view help;           // a sentence
  };

  constexpr std::string_view flag() const { return text_.flag; }
  constexpr std::string_view default_value() const { return text_.default_value; }
  constexpr std::string_view help() const { return text_.help; }
  constexpr bool repeatable() const { return repeatable_; }
  // What help shows in place of the value: "N", "DURATION", "auto|pmu|fdinfo"; "" for a switch, whose values are "true"
  // and "false".
  virtual std::string placeholder() const = 0;
  // Why the option does not accept this value, to be written after it: "is none of auto, pmu, fdinfo". "": it does.
  virtual std::string refusal(std::string_view value) const = 0;

 protected:
  constexpr explicit OptionDescriptor(Text text, bool repeatable = false) : text_(text), repeatable_(repeatable) {}
  ~OptionDescriptor() = default;

 private:
  Text text_;
  bool repeatable_;
};

// A Monitor cannot be made with this option. The caller knows where the value came from, and should name that place
// instead of the flag. what() names the flag.
class OptionError : public std::invalid_argument {
 public:
  OptionError(std::string flag, std::string reason)
      : std::invalid_argument("--" + flag + ": " + reason), flag_(std::move(flag)), reason_(std::move(reason)) {}
  const std::string& flag() const { return flag_; }  // without dashes
  const std::string& reason() const { return reason_; }

 private:
  std::string flag_, reason_;
};

}  // namespace igpu
