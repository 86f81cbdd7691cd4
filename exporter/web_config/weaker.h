// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "web_config/config.h"

namespace igpu::exporter {

// What "weaker" means for one key of --web.config.file: with `after` somebody may come in, or something may be done,
// that `before` refused. A file that is only half written lacks such keys, so a reload that weakens one is not taken.
//
// No order holds between two certificates, two authorities, two users or two names: they are replaced while the program
// runs. A value that is the beginning of the earlier one is what is left of a file that was cut, and counts as weaker.
struct KeyStrength {
  std::string_view key;
  bool (*weaker)(const WebConfig& before, const WebConfig& after);
};

// One row for each key that a file may have, in the order of the documentation.
std::span<const KeyStrength> key_strengths();

// The keys that are weaker, joined by ", "; "" if there is none. Whether TLS is on is not a matter of strength here: it
// has to be on, or off, in both.
std::string weaker_keys(const WebConfig& before, const WebConfig& after);

}  // namespace igpu::exporter
