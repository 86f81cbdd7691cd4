// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct libdeflate_compressor;

namespace igpu::exporter {

// A reusable gzip compressor for whole texts: its state is allocated once. One thread at a time. Level 1: higher levels
// take at least 1.5 times as long for an output that is a few percent smaller.
class Gzip {
 public:
  Gzip();  // throws std::bad_alloc

  // Replaces out with the compressed text; reuse the string between calls.
  void compress(std::string_view text, std::string& out);

 private:
  std::unique_ptr<libdeflate_compressor, void (*)(libdeflate_compressor*)> compressor_;
};

// Content negotiation (RFC 9110 section 12.5). Malformed headers are ignored; there is always a result.

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
