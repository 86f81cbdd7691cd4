// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "igpu/page.h"

struct libdeflate_compressor;

namespace igpu::exporter {

inline constexpr std::size_t kNumberSize = 32;

// Writes a finite number in its shortest form that reads back unchanged; integers of 64 bits have neither fraction nor
// exponent. At most kNumberSize characters; returns their end.
char* write_number(char* out, double value);

void append_number(std::string& out, double value);

// Appends the value as printf's %f does, with six decimals.
void append_fixed(std::string& out, double value);

// The Prometheus text format 0.0.4 and OpenMetrics text 1.0, whose sample lines are identical.

// Whether text contains a backslash, a quote or a newline, which is rare. Checked for every label value, hence by
// words; the last one overlaps the one before it.
template <class Word>
bool needs_escape_at(std::string_view text, std::size_t i) {
  constexpr auto kOnes = static_cast<Word>(0x0101010101010101u), kHigh = static_cast<Word>(0x8080808080808080u);
  Word word;
  std::memcpy(&word, text.data() + i, sizeof word);
  // Sets the high bit of each byte that is c. Bytes above a match may be set, too, which does not change the result.
  const auto bytes_of = [word](char c) {
    const Word x = word ^ (kOnes * static_cast<unsigned char>(c));
    return (x - kOnes) & ~x & kHigh;
  };
  return (bytes_of('\\') | bytes_of('"') | bytes_of('\n')) != 0;
}
inline bool needs_escape(std::string_view text) {
  const std::size_t size = text.size();
  if (size >= sizeof(std::uint64_t)) {
    std::size_t i = 0;
    for (; size - i > sizeof(std::uint64_t); i += sizeof(std::uint64_t))
      if (needs_escape_at<std::uint64_t>(text, i)) return true;
    return needs_escape_at<std::uint64_t>(text, size - sizeof(std::uint64_t));
  }
  if (size >= sizeof(std::uint32_t)) {
    return needs_escape_at<std::uint32_t>(text, 0) ||
           needs_escape_at<std::uint32_t>(text, size - sizeof(std::uint32_t));
  }
  for (const char c : text)
    if (c == '\\' || c == '"' || c == '\n') return true;
  return false;
}

// A finite bucket bound as the value of le, in OpenMetrics' canonical form: the shortest text that parses to the same
// value, always recognisable as a floating-point number (1.0, 0.001, 1.6e-05, 1e+06). Both formats use it, so that a
// series keeps its name when a scraper changes the format.
std::string bound_text(double bound);

inline constexpr std::string_view kPrometheusTextContentType = "text/plain; version=0.0.4; charset=utf-8";

// Appends the page to out. Reuse the string between scrapes to avoid an allocation per sample. An info metric becomes a
// gauge.
void write_prometheus_text(const PageView& page, std::string& out);

inline constexpr std::string_view kOpenMetricsContentType =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";
// For requests that name an escaping scheme (Prometheus 3): these names need no escaping.
inline constexpr std::string_view kOpenMetricsEscapingContentType =
    "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores";

// Appends the page and its end mark to out. Reuse the string between scrapes to avoid an allocation per sample.
void write_openmetrics(const PageView& page, std::string& out);

std::string_view openmetrics_type(Kind kind);

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
