// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <civetweb_parser.h>

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "server/http/message.h"

namespace igpu::exporter {

// A request head, parsed by CivetWeb.
class ParsedRequest final : public HttpRequest {
 public:
  // head: of a complete request (framing.h). client and notice_resets must outlive the request.
  ParsedRequest(std::string_view head, std::string_view client, Arrival arrival, std::stop_token gone,
                const std::function<void()>& notice_resets);

  // 0, or the status that rejects the request: 400 (malformed), 505 (another HTTP version). Then no other member is
  // valid.
  int error() const { return error_; }

  std::string_view method() const override { return info_.request_method; }
  std::string_view path() const override { return path_; }
  std::string_view query() const override { return query_; }
  std::string_view header(std::string_view name) const override;
  bool has_header(std::string_view name) const override;
  std::string list_header(std::string_view name) const override;
  std::string_view client() const override { return client_; }
  Arrival arrival() const override { return arrival_; }
  std::stop_token gone() const override { return gone_; }
  void notice_resets() const override { notice_resets_(); }

 private:
  int parse();

  const std::string_view client_;
  const Arrival arrival_;
  const std::stop_token gone_;
  const std::function<void()>& notice_resets_;
  std::string head_;      // info_ points into it
  mg_request_info info_;  // the members that CivetWeb's parser fills
  std::string path_;
  std::string_view query_;
  const int error_;
};

}  // namespace igpu::exporter
