// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

// Short texts for values; no number that a page may hold makes them long. A missing value is "-".
namespace igpu::exporter::top {

std::string percent(std::optional<double> ratio);       // "34.5%", "100%"
std::string percent_cell(std::optional<double> ratio);  // "34.5", "100"; up to "9999"
std::string short_bytes(std::optional<double> bytes);   // "380M", "5.3G"
std::string tenths(double value);                       // "178.3", "1240"
std::string whole(double value);                        // "1950"

}  // namespace igpu::exporter::top
