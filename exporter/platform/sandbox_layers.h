// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

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

// The outcome of one layer. A layer that is not available never prevents the start.
struct LayerOutcome {
  bool on = false;
  std::string detail;  // on: "" or a note ("keeps CAP_PERFMON"); off: why
  std::string hint;    // how to fix or improve it; "" if nothing is wrong ("turned off by --no-sandbox")

  static LayerOutcome holds(std::string what = {}) { return {true, std::move(what), {}}; }
  static LayerOutcome missing(std::string why, std::string hint) { return {false, std::move(why), std::move(hint)}; }
};

using SandboxOutcomes = std::array<LayerOutcome, kLayers.size()>;

}  // namespace igpu::exporter
