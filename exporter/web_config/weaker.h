// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "web_config/config.h"

namespace igpu::exporter {

// Whether one key of --web.config.file became weaker: `after` accepts clients or requests that `before` rejected. A
// file that is only half written lacks such keys, so a reload that weakens one is rejected.
//
// A simpler rule, "only certificates and users may change without a restart", would need the same rules for a truncated
// value, and operators could no longer harden a running exporter. So each key has its own.
//
// Two certificates, authorities, users or names are never weaker than each other: they are replaced at run time. A
// value that is a prefix of the earlier one may come from a truncated file and counts as weaker.

// The weaker keys, joined by ", "; "" if there are none. TLS must be on in both or off in both.
std::string weaker_keys(const WebConfig& before, const WebConfig& after);

}  // namespace igpu::exporter
