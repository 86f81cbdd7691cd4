// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "collector/collector.h"
#include "igpu/monitor.h"
#include "registry/sink_pool.h"

namespace igpu {

// The shared page with the samples of this client added.
std::shared_ptr<const ScrapeResult> make_client_page(std::shared_ptr<const ScrapeResult> shared, ClientSamples& samples,
                                                     std::string_view client, SinkPool& sinks);

}  // namespace igpu
