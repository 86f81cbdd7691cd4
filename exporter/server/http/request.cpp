// SPDX-License-Identifier: Apache-2.0
#include "server/http/request.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "server/http/framing.h"
#include "server/http/query.h"
#include "text/ascii.h"

namespace igpu::exporter {
namespace {

// CivetWeb does not remove spaces after a value, which do not belong to it (RFC 9112 section 5.1).
std::string_view value_of(const mg_header& header) {
  const std::string_view value = header.value;
  return value.substr(0, value.find_last_not_of(' ') + 1);
}

bool is_named(const mg_header& header, std::string_view name) { return equal_ignoring_case(header.name, name); }

}  // namespace

ParsedRequest::ParsedRequest(std::string_view head, std::string_view client, Arrival arrival, std::stop_token gone,
                             const std::function<void()>& notice_resets)
    : client_(client),
      arrival_(arrival),
      gone_(std::move(gone)),
      notice_resets_(notice_resets),
      head_(for_strict_parser(head)),
      error_(parse()) {}

int ParsedRequest::parse() {
  if (igpu_civetweb_parse_request(head_.data(), static_cast<int>(head_.size()), &info_) <= 0) return 400;
  const std::string_view version = info_.http_version;
  if (version != "1.0" && version != "1.1") return 505;
  const std::optional<Target> target = split_target(info_.request_uri);
  if (!target) return 400;
  path_ = url_decoded(target->path);
  query_ = target->query;
  return 0;
}

std::string_view ParsedRequest::header(std::string_view name) const {
  for (int i = 0; i < info_.num_headers; ++i) {
    if (is_named(info_.http_headers[i], name)) return value_of(info_.http_headers[i]);
  }
  return {};
}

bool ParsedRequest::has_header(std::string_view name) const {
  return std::any_of(info_.http_headers, info_.http_headers + info_.num_headers,
                     [name](const mg_header& header) { return is_named(header, name); });
}

std::string ParsedRequest::list_header(std::string_view name) const {
  std::string joined;
  for (int i = 0; i < info_.num_headers; ++i) {
    if (!is_named(info_.http_headers[i], name)) continue;
    if (!joined.empty()) joined += ',';
    joined += value_of(info_.http_headers[i]);
  }
  return joined;
}

}  // namespace igpu::exporter
