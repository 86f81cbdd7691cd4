// SPDX-License-Identifier: Apache-2.0
#include "igpu/words.h"
#include "server/sandbox/sandbox.h"

namespace igpu::exporter {

void report_off(Log& log) { log.write(LogLevel::warn, "the sandbox is off", {{"hint", "start without --no-sandbox"}}); }

std::string layers_on(const SandboxOutcomes& outcomes) {
  std::vector<std::string_view> on;
  for (const Layer layer : kLayers)
    if (outcomes[static_cast<std::size_t>(layer)].on) on.push_back(to_string(layer));
  return on.empty() ? "nothing" : joined(on, ",");
}

void report_missing(Layer layer, const LayerOutcome& outcome, LogLevel level, Log& log) {
  if (outcome.on) return;
  log.write(outcome.hint.empty() ? LogLevel::info : level, "sandbox layer missing",
            {{"layer", to_string(layer)},
             {"reason", outcome.detail},
             {"hint", outcome.hint.empty() ? "none needed" : outcome.hint}});
}

}  // namespace igpu::exporter
