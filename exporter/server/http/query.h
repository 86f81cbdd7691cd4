// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace igpu::exporter {

// Percent-decoded; an invalid escape is kept.
std::string url_decoded(std::string_view text);

// Values of one variable of a query string ("collect[]=a&collect%5B%5D=b"), in order. Names and values are
// percent-decoded and "+" is a space; an invalid escape is kept. Throws std::invalid_argument for an encoded zero byte,
// which would truncate a name or a value.
std::vector<std::string> query_values(std::string_view query, std::string_view name);

}  // namespace igpu::exporter
