// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace igpu::exporter {

// Without its percent signs; nothing if one of them is no escape, or stands for a zero byte.
std::optional<std::string> decoded_path(std::string_view path);

// Values of one parameter of a query string ("collect[]=a&collect%5B%5D=b"), in order. Names and values are
// percent-decoded and "+" is a space; a broken escape stands for itself.
std::vector<std::string> query_values(std::string_view query, std::string_view name);

}  // namespace igpu::exporter
