// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/option.h"

namespace igpu {

// How often the clients are read between scrapes: a collector that lists this option is then read that often, so that
// it counts jobs that end before the next scrape.
inline constexpr DurationOption kScanInterval{
    {.flag = "collector.fdinfo.interval",
     .default_value = "0s",
     .help = "How often GPU clients are also read between scrapes, so that collector workloads counts jobs that are "
             "shorter than the time between two scrapes. 0: only at scrapes; otherwise at least 100ms."}};

}  // namespace igpu
