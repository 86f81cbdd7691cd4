// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "http/message.h"
#include "platform/extended_regex.h"

namespace igpu::exporter {

// --web.cors.origin: the web sites whose scripts may read the API in their visitors' browsers.
class AllowedOrigins {
 public:
  // pattern: a POSIX extended regular expression that must match the whole origin; "": no origin is allowed. Throws
  // std::invalid_argument.
  explicit AllowedOrigins(const std::string& pattern = {});

  bool allows(std::string_view origin) const;
  // Adds the headers that allow the browser to pass the answer to the script of this request's origin.
  void add_headers(const HttpRequest& request, HttpResponse& response) const;

 private:
  bool all_ = false;
  std::optional<ExtendedRegex> expression_;  // nullopt: no origin is allowed
};

}  // namespace igpu::exporter
