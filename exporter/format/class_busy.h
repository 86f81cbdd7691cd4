// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string_view>

#include "format/device_series.h"

namespace igpu::exporter {

// Share of the window in which the engines of each class were busy, 0..1, whichever source reports them. Under xe the
// source changes while the program runs: one series for each engine, or one for a class.
std::map<std::string_view, double> class_busy(const DeviceSeries& series);

}  // namespace igpu::exporter
