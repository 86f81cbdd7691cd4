// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/options.h"
#include "igpu/units.h"

// The kinds of options that a collector declares, and their values. To add one:
//
//   static constexpr NumberOption kDepth{{.flag = "collector.queue.depth", .default_value = "16", .help = "Depth."}};
//   .options = kListOf<OptionDescriptor, kDepth>  // in CollectorInfo
//   ...
//   depth_(context.options[kDepth])  // std::uint64_t
namespace igpu {

// A whole number.
class NumberOption final : public OptionDescriptor {
 public:
  using Value = std::uint64_t;
  constexpr explicit NumberOption(Text text, Value least = 0, Value most = std::numeric_limits<Value>::max())
      : OptionDescriptor(text), least_(least), most_(most) {}
  std::string placeholder() const override { return "N"; }
  std::string refusal(std::string_view value) const override;
  Value parse(std::span<const std::string> values) const;

 private:
  Value least_, most_;
};

// "500ms", "15m".
class DurationOption final : public OptionDescriptor {
 public:
  using Value = Nanoseconds;
  constexpr explicit DurationOption(Text text, Nanoseconds least = Nanoseconds::zero(),
                                    Nanoseconds most = Nanoseconds::max())
      : OptionDescriptor(text), least_(least), most_(most) {}
  std::string placeholder() const override { return "DURATION"; }
  std::string refusal(std::string_view value) const override;
  Value parse(std::span<const std::string> values) const;

 private:
  Nanoseconds least_, most_;
};

// "0.95": from 0 to 1.
class RatioOption final : public OptionDescriptor {
 public:
  using Value = double;
  constexpr explicit RatioOption(Text text) : OptionDescriptor(text) {}
  std::string placeholder() const override { return "RATIO"; }
  std::string refusal(std::string_view value) const override;
  Value parse(std::span<const std::string> values) const;
};

// --NAME or --no-NAME; default_value is "enabled" or "disabled".
class SwitchOption final : public OptionDescriptor {
 public:
  using Value = bool;
  constexpr explicit SwitchOption(Text text) : OptionDescriptor(text) {}
  std::string placeholder() const override { return {}; }
  std::string refusal(std::string_view value) const override;
  Value parse(std::span<const std::string> values) const;
};

// Any text, such as a file name.
class TextOption final : public OptionDescriptor {
 public:
  using Value = std::string;
  constexpr TextOption(Text text, std::string_view placeholder) : OptionDescriptor(text), placeholder_(placeholder) {}
  std::string placeholder() const override { return std::string(placeholder_); }
  std::string refusal(std::string_view) const override { return {}; }
  Value parse(std::span<const std::string> values) const { return values.empty() ? std::string() : values.back(); }

 private:
  std::string_view placeholder_;
};

// A flag that may be given several times. check: as OptionDescriptor::refusal(); null accepts every text.
class TextListOption final : public OptionDescriptor {
 public:
  using Value = std::vector<std::string>;
  using Check = std::string (*)(std::string_view value);
  constexpr TextListOption(Text text, std::string_view placeholder, Check check = nullptr)
      : OptionDescriptor(text, true), placeholder_(placeholder), check_(check) {}
  std::string placeholder() const override { return std::string(placeholder_); }
  std::string refusal(std::string_view value) const override { return check_ ? check_(value) : std::string(); }
  Value parse(std::span<const std::string> values) const { return {values.begin(), values.end()}; }

 private:
  std::string_view placeholder_;
  Check check_;
};

template <class T>
struct Choice {
  std::string_view name;
  T value;
};

// One of several words. choices outlives the option.
template <class T>
class ChoiceOption final : public OptionDescriptor {
 public:
  using Value = T;
  constexpr ChoiceOption(Text text, std::span<const Choice<T>> choices) : OptionDescriptor(text), choices_(choices) {}
  std::string placeholder() const override { return names("|"); }
  std::string refusal(std::string_view value) const override {
    return find(value) ? std::string() : "is none of " + names(", ");
  }
  Value parse(std::span<const std::string> values) const { return find(values.back())->value; }

 private:
  const Choice<T>* find(std::string_view name) const {
    for (const Choice<T>& choice : choices_)
      if (choice.name == name) return &choice;
    return nullptr;
  }
  std::string names(std::string_view separator) const {
    std::string text;
    for (const Choice<T>& choice : choices_) text.append(text.empty() ? "" : separator).append(choice.name);
    return text;
  }

  std::span<const Choice<T>> choices_;
};

// The values of one collector's options: what was given, else the default.
class OptionValues {
 public:
  using Given = std::map<std::string, std::vector<std::string>, std::less<>>;  // by flag

  OptionValues() = default;
  // What is given for other flags is ignored. Throws OptionError for a value that its option refuses.
  OptionValues(std::span<const OptionDescriptor* const> options, const Given& given);

  // option must be one of those that the collector's descriptor lists: else std::logic_error.
  template <class Option>
  typename Option::Value operator[](const Option& option) const {
    return option.parse(texts(option.flag()));
  }

 private:
  const std::vector<std::string>& texts(std::string_view flag) const;
  Given values_;
};

}  // namespace igpu
