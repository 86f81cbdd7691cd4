// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace igpu {

// The numbers are those of both uapis (i915_drm.h enum drm_i915_gem_engine_class, xe_drm.h DRM_XE_ENGINE_CLASS_*).
enum class EngineClass : std::uint8_t { render = 0, copy = 1, video = 2, video_enhance = 3, compute = 4 };
inline constexpr std::size_t kEngineClasses = 5;

// Value of the label "class" in the metrics.
constexpr std::string_view to_string(EngineClass engine_class) {
  constexpr std::string_view kNames[kEngineClasses] = {"render", "copy", "video", "video_enhance", "compute"};
  return kNames[static_cast<std::size_t>(engine_class)];
}

}  // namespace igpu
