// SPDX-License-Identifier: Apache-2.0
#include "pages/allowed_origins.h"

#include <array>
#include <cstddef>
#include <stdexcept>

namespace igpu::exporter {
namespace {

constexpr std::size_t kLongestOrigin = 512;  // a scheme, a host name and a port need less

}  // namespace

AllowedOrigins::AllowedOrigins(const std::string& pattern) : all_(pattern == ".*") {
  if (pattern.empty()) return;
  auto expression = std::make_unique<regex_t>();
  const std::string whole = "^(" + pattern + ")$";
  if (const int error = ::regcomp(expression.get(), whole.c_str(), REG_EXTENDED | REG_NOSUB); error != 0) {
    std::array<char, 128> text{};
    ::regerror(error, expression.get(), text.data(), text.size());
    throw std::invalid_argument(text.data());
  }
  expression_.reset(expression.release());
}

bool AllowedOrigins::allows(std::string_view origin) const {
  if (!expression_ || origin.empty() || origin.size() > kLongestOrigin) return false;
  return ::regexec(expression_.get(), std::string(origin).c_str(), 0, nullptr, 0) == 0;
}

void AllowedOrigins::add_headers(const HttpRequest& request, HttpResponse& response) const {
  if (!expression_) return;
  response.headers.emplace_back("Vary", "Origin");
  const std::string_view origin = request.header("Origin");
  if (allows(origin)) response.headers.emplace_back("Access-Control-Allow-Origin", all_ ? "*" : origin);
}

}  // namespace igpu::exporter
