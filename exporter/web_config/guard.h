// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/message.h"
#include "igpu/log.h"
#include "web_config/password_check.h"
#include "web_config/token_bucket.h"
#include "web_config/web_config_file.h"

namespace igpu::exporter {

// Stands before the routes and does what the web configuration asks for, on every path alike, as the toolkit does (so
// /-/healthy and /-/ready want a password, too): the rate limit (429), basic authentication (401; 503 while too many
// passwords are being checked), and headers for every response. A header that a page sets itself is replaced by
// the configured one.
class Guard final : public HttpHandler {
 public:
  // All of them must outlive the guard.
  Guard(WebConfigSource& config, HttpHandler& next, const PasswordCheck::Limits& limits = {})
      : config_(config), next_(next), passwords_(limits) {}

  void handle(const HttpRequest& request, HttpResponse& response) override;
  void answered(int status) override { next_.answered(status); }

 private:
  // True if the request may pass; otherwise the response says why not.
  bool admits(const WebConfig& config, const HttpRequest& request, HttpResponse& response);

  WebConfigSource& config_;
  HttpHandler& next_;
  PasswordCheck passwords_;
  TokenBucket bucket_;
};

}  // namespace igpu::exporter
