// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "base/option.h"

namespace igpu {

// The i915 events wait, sema and frequency are sampled: the driver runs a 200 Hz timer for them while the GPU is busy.
// One option for all collectors that open such events.
inline constexpr std::array<Choice<bool>, 2> kSampledEventsChoices{{{"on", true}, {"off", false}}};
inline constexpr ChoiceOption<bool> kSampledEvents{
    {.flag = "collector.engines.sampled-events",
     .default_value = "on",
     .help = "Whether to open the sampled i915 events: wait, sema and mean frequency. They start a 200 Hz timer in the "
             "driver while the GPU is busy."},
    kSampledEventsChoices};

}  // namespace igpu
