// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

// What a client accepts (RFC 9110 section 12.5). Hostile headers are only ever ignored; there is always an answer.
namespace igpu::exporter {

enum class Format { prometheus_text, openmetrics };

struct FormatChoice {
  Format format = Format::prometheus_text;
  std::string_view content_type;  // static storage
};

// accept: the field's value; several fields joined by a comma; "" where there is none. OpenMetrics when it is accepted
// at least as gladly as text/plain, text/* and */*, otherwise the Prometheus text format, even if that was refused.
FormatChoice choose_format(std::string_view accept);

// accept_encoding: likewise. gzip (or * where gzip is not named) has to be accepted, and not less gladly than identity.
bool accepts_gzip(std::string_view accept_encoding);

}  // namespace igpu::exporter
