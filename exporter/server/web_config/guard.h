// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "igpu/log.h"
#include "igpu/token_bucket.h"
#include "server/http/message.h"
#include "server/web_config/password_check.h"
#include "server/web_config/web_config_file.h"

namespace igpu::exporter {

// Applies the web configuration to every request, whatever its path, as the toolkit does (so /-/healthy and /-/ready
// need a password, too): rate limit (429), basic authentication (401; 503 while too many passwords are being checked),
// and headers for every response. A configured header replaces one that a page sets. A stream ends when the
// configuration changes: its client comes back, and is accepted or not.
class Guard final : public HttpHandler {
 public:
  // All arguments must outlive the guard.
  Guard(WebConfigSource& config, HttpHandler& next, const PasswordCheck::Limits& limits = {})
      : config_(config), next_(next), passwords_(limits) {}

  void handle(const HttpRequest& request, HttpResponse& response) override;
  void answered(int status) override { next_.answered(status); }
  Event next_event() override;

 private:
  // False: the request is rejected, and the response says why.
  bool accepts(const WebConfig& config, const HttpRequest& request, HttpResponse& response);

  WebConfigSource& config_;
  HttpHandler& next_;
  PasswordCheck passwords_;
  TokenBucket bucket_;
};

}  // namespace igpu::exporter
