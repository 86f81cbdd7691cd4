// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "igpu/device.h"

// What the kernel's interfaces call the engine classes.
namespace igpu {

struct EngineClassNames {
  EngineClass engine_class;
  std::string_view label;        // value of the class label
  std::string_view short_name;   // rcs: in event names, xe fdinfo and xe sysfs
  std::string_view fdinfo_name;  // in i915 fdinfo
};

inline constexpr std::array<EngineClassNames, kEngineClasses> kEngineClassNames{{
    {EngineClass::render, "render", "rcs", "render"},
    {EngineClass::copy, "copy", "bcs", "copy"},
    {EngineClass::video, "video", "vcs", "video"},
    {EngineClass::video_enhance, "video_enhance", "vecs", "video-enhance"},
    {EngineClass::compute, "compute", "ccs", "compute"},
}};

constexpr const EngineClassNames& names_of(EngineClass engine_class) {
  return kEngineClassNames[static_cast<std::size_t>(engine_class)];
}

// "rcs", "vecs" -> class; nullopt for other words.
constexpr std::optional<EngineClass> engine_class_of_short_name(std::string_view word) {
  for (const auto& names : kEngineClassNames)
    if (names.short_name == word) return names.engine_class;
  return std::nullopt;
}

// "render", "video-enhance" (i915 fdinfo) -> class.
constexpr std::optional<EngineClass> engine_class_of_fdinfo_name(std::string_view word) {
  for (const auto& names : kEngineClassNames)
    if (names.fdinfo_name == word) return names.engine_class;
  return std::nullopt;
}

}  // namespace igpu
