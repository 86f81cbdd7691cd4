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
  // pattern: a regular expression (POSIX extended) that has to match the whole origin; "": none may.
  // Throws std::invalid_argument.
  explicit AllowedOrigins(const std::string& pattern = {});

  bool allows(std::string_view origin) const;
  // Adds the headers that let the browser hand over the answer. They refer to the request.
  void add_headers(const HttpRequest& request, HttpResponse& response) const;

 private:
  bool all_ = false;
  std::optional<ExtendedRegex> expression_;  // nullopt: none may
};

}  // namespace igpu::exporter
