// SPDX-License-Identifier: Apache-2.0
#include <libdeflate.h>

#include <algorithm>
#include <charconv>
#include <new>
#include <optional>
#include <stdexcept>

#include "text/text.h"
#include "view/format/text_writer.h"

namespace igpu::exporter {
namespace {

// Removes the text up to the next unquoted separator from the front of rest and returns it.
std::string_view take_part(std::string_view& rest, char separator) {
  bool quoted = false;
  std::size_t i = 0;
  for (; i < rest.size(); ++i) {
    if (quoted && rest[i] == '\\') {
      ++i;
    } else if (rest[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && rest[i] == separator) {
      break;
    }
  }
  i = std::min(i, rest.size());
  const std::string_view part = rest.substr(0, i);
  rest.remove_prefix(std::min(i + 1, rest.size()));
  return trimmed(part);
}

// The values compared with contain neither quotes nor backslashes: escapes need not be decoded.
std::string_view unquoted(std::string_view value) {
  if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
    value.remove_prefix(1);
    value.remove_suffix(1);
  }
  return value;
}

// A quality from 0 to 1; empty for anything else.
std::optional<double> quality(std::string_view text) {
  const std::optional<double> value = number_of<double>(text, std::chars_format::fixed);
  return value && *value >= 0 && *value <= 1 ? value : std::nullopt;
}

struct Parameter {
  std::string_view name, value;
};

Parameter take_parameter(std::string_view& rest) {
  const std::string_view text = take_part(rest, ';');
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return {text, {}};
  return {trimmed(text.substr(0, equals)), unquoted(trimmed(text.substr(equals + 1)))};
}

struct Item {
  std::string_view name;  // media range or coding
  double q = 1;
  std::string_view version;
  bool escaping = false;
};

// The next valid item of the list; items with an invalid quality are skipped.
std::optional<Item> next_item(std::string_view& rest) {
  while (!rest.empty()) {
    std::string_view text = take_part(rest, ',');
    Item item;
    item.name = take_part(text, ';');
    bool valid = !item.name.empty();
    while (!text.empty()) {
      const Parameter parameter = take_parameter(text);
      if (equal_ignoring_case(parameter.name, "q")) {
        const std::optional<double> q = quality(parameter.value);
        if (q)
          item.q = *q;
        else
          valid = false;
      } else if (equal_ignoring_case(parameter.name, "version")) {
        item.version = parameter.value;
      } else if (equal_ignoring_case(parameter.name, "escaping")) {
        item.escaping = true;
      }
    }
    if (valid) return item;
  }
  return std::nullopt;
}

// Version 0.0.1 was the draft of 1.0.0; clients that request it can parse 1.0.0.
bool is_openmetrics(const Item& item) {
  return equal_ignoring_case(item.name, "application/openmetrics-text") &&
         (item.version.empty() || item.version == "0.0.1" || item.version == "1.0.0");
}

bool is_text(const Item& item) {
  return equal_ignoring_case(item.name, "text/plain") || equal_ignoring_case(item.name, "text/*") || item.name == "*/*";
}

}  // namespace

Gzip::Gzip() : compressor_(libdeflate_alloc_compressor(1), libdeflate_free_compressor) {
  if (!compressor_) throw std::bad_alloc();
}

void Gzip::compress(std::string_view text, std::string& out) {
  out.resize(libdeflate_gzip_compress_bound(compressor_.get(), text.size()));  // space for the worst case
  const std::size_t size =
      libdeflate_gzip_compress(compressor_.get(), text.data(), text.size(), out.data(), out.size());
  if (size == 0) throw std::runtime_error("compression failed");
  out.resize(size);
}

FormatChoice choose_format(std::string_view accept) {
  double openmetrics = 0;
  double text = 0;
  bool escaping = false;
  while (const std::optional<Item> item = next_item(accept)) {
    if (is_text(*item)) text = std::max(text, item->q);
    if (is_openmetrics(*item) && item->q > 0) {
      openmetrics = std::max(openmetrics, item->q);
      escaping = escaping || item->escaping;
    }
  }
  if (openmetrics > 0 && openmetrics >= text) {
    return {Format::openmetrics, escaping ? kOpenMetricsEscapingContentType : kOpenMetricsContentType};
  }
  return {Format::prometheus_text, kPrometheusTextContentType};
}

bool accepts_gzip(std::string_view accept_encoding) {
  std::optional<double> gzip, any;
  double identity = 0;  // always acceptable; preferred only where it is named
  while (const std::optional<Item> item = next_item(accept_encoding)) {
    if (equal_ignoring_case(item->name, "gzip") || equal_ignoring_case(item->name, "x-gzip")) {
      gzip = std::max(gzip.value_or(0), item->q);
    } else if (item->name == "*") {
      any = item->q;
    } else if (equal_ignoring_case(item->name, "identity")) {
      identity = item->q;
    }
  }
  const double q = gzip ? *gzip : any.value_or(0);
  return q > 0 && q >= identity;
}

}  // namespace igpu::exporter
