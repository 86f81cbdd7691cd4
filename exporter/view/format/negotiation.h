// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

// Content negotiation (RFC 9110 section 12.5). Malformed headers are ignored; there is always a result.
namespace igpu::exporter {

enum class Format { prometheus_text, openmetrics };

struct FormatChoice {
  Format format = Format::prometheus_text;
  std::string_view content_type;  // static storage
};

// accept: the field's value; several fields joined by a comma; "" if there is none. OpenMetrics if its quality is at
// least that of text/plain, text/* and */*, otherwise the Prometheus text format, even if the client excludes it.
FormatChoice choose_format(std::string_view accept);

// accept_encoding: as accept above. True if gzip (or * where gzip is not named) is accepted and its quality is at least
// that of identity.
bool accepts_gzip(std::string_view accept_encoding);

}  // namespace igpu::exporter
