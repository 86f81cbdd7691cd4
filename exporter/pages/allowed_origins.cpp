// SPDX-License-Identifier: Apache-2.0
#include "pages/allowed_origins.h"

#include <cstddef>

namespace igpu::exporter {
namespace {

constexpr std::size_t kLongestOrigin = 512;  // a scheme, a host name and a port need less

}  // namespace

AllowedOrigins::AllowedOrigins(const std::string& pattern) : all_(pattern == ".*") {
  if (!pattern.empty()) expression_.emplace(pattern);
}

bool AllowedOrigins::allows(std::string_view origin) const {
  if (!expression_ || origin.empty() || origin.size() > kLongestOrigin) return false;
  return expression_->matches(std::string(origin));
}

void AllowedOrigins::add_headers(const HttpRequest& request, HttpResponse& response) const {
  if (!expression_) return;
  response.headers.emplace_back("Vary", "Origin");
  const std::string_view origin = request.header("Origin");
  if (allows(origin)) response.headers.emplace_back("Access-Control-Allow-Origin", all_ ? "*" : origin);
}

}  // namespace igpu::exporter
