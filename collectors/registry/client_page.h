// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "collector/collector.h"
#include "igpu/monitor.h"
#include "registry/sink_pool.h"

namespace igpu {

// A page that several clients share, with what is this client's own.
std::shared_ptr<const ScrapeResult> make_client_page(std::shared_ptr<const ScrapeResult> shared, ClientSamples& samples,
                                                     std::string_view client, SinkPool& sinks);

}  // namespace igpu
