// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace igpu::exporter {

// For text and for attribute values in quotes, in HTML and in SVG. Unsafe characters, some of which XML forbids, become
// '?' as in clean_text(), except line ends.
std::string html_escaped(std::string_view text);

}  // namespace igpu::exporter
