// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "igpu/page.h"

// The Prometheus text format 0.0.4 and OpenMetrics text 1.0, whose sample lines are identical.
namespace igpu::exporter {

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

}  // namespace igpu::exporter
