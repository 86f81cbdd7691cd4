// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>

// The layers of the sandbox: their names and outcomes.
namespace igpu::exporter {

enum class Layer { core_dumps, capabilities, no_new_privs, seccomp, landlock };

inline constexpr std::array<Layer, 5> kLayers{Layer::core_dumps, Layer::capabilities, Layer::no_new_privs,
                                              Layer::seccomp, Layer::landlock};

constexpr std::string_view to_string(Layer layer) {
  switch (layer) {
    case Layer::core_dumps:
      return "core_dumps";
    case Layer::capabilities:
      return "capabilities";
    case Layer::no_new_privs:
      return "no_new_privs";
    case Layer::seccomp:
      return "seccomp";
    case Layer::landlock:
      return "landlock";
  }
  return "";
}

// The outcome of one layer. A layer that is not available never prevents the start.
struct LayerOutcome {
  bool on = false;
  std::string detail;  // on: "" or a note ("keeps CAP_PERFMON"); off: why
  std::string hint;    // how to fix or improve it; "" if nothing is wrong ("turned off by --no-sandbox")

  static LayerOutcome holds(std::string what = {}) { return {true, std::move(what), {}}; }
  static LayerOutcome missing(std::string why, std::string hint) { return {false, std::move(why), std::move(hint)}; }
};

}  // namespace igpu::exporter
