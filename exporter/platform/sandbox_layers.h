// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

// The layers of the sandbox on this operating system (docs/sandbox.md).
namespace igpu::exporter {

#ifdef _WIN32
enum class Layer { core_dumps, privileges, child_processes, mitigations };

inline constexpr std::array<Layer, 4> kLayers{Layer::core_dumps, Layer::privileges, Layer::child_processes,
                                              Layer::mitigations};

constexpr std::string_view to_string(Layer layer) {
  constexpr std::array<std::string_view, 4> kNames{"core_dumps", "privileges", "child_processes", "mitigations"};
  return kNames[static_cast<std::size_t>(layer)];
}
#else
enum class Layer { core_dumps, capabilities, no_new_privs, seccomp, landlock };

inline constexpr std::array<Layer, 5> kLayers{Layer::core_dumps, Layer::capabilities, Layer::no_new_privs,
                                              Layer::seccomp, Layer::landlock};

constexpr std::string_view to_string(Layer layer) {
  constexpr std::array<std::string_view, 5> kNames{"core_dumps", "capabilities", "no_new_privs", "seccomp", "landlock"};
  return kNames[static_cast<std::size_t>(layer)];
}
#endif

}  // namespace igpu::exporter
