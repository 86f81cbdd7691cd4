// SPDX-License-Identifier: Apache-2.0
#include "server/web_config/guard.h"

namespace igpu::exporter {
namespace {

void add_headers(const std::shared_ptr<const LoadedWebConfig>& loaded, HttpResponse& response) {
  if (loaded->config.headers.empty()) return;
  for (const auto& [name, value] : loaded->config.headers) {
    if (name == "X-Content-Type-Options") continue;  // the listener always sends it, and only one value is valid
    std::erase_if(response.headers,
                  [replaced = std::string_view(name)](const auto& header) { return header.first == replaced; });
    response.headers.emplace_back(name, value);
  }
  response.keeps_alive = loaded;
}

}  // namespace

void Guard::handle(const HttpRequest& request, HttpResponse& response) {
  const std::shared_ptr<const LoadedWebConfig> loaded = config_.current();
  if (accepts(loaded->config, request, response)) next_.handle(request, response);
  add_headers(loaded, response);
  if (response.subscription) response.subscription->accepted_under = loaded;
}

Event Guard::next_event() {
  Event event = next_.next_event();
  event.accepted_under = config_.current();
  return event;
}

bool Guard::accepts(const WebConfig& config, const HttpRequest& request, HttpResponse& response) {
  if (!bucket_.take_token(config.rate_limit, std::chrono::steady_clock::now())) {
    response.fail(429, "too many requests (rate_limit)");
    return false;
  }
  if (config.users.empty()) return true;
  Credentials credentials;
  if (parse_basic_authorization(request.header("Authorization"), credentials)) {
    switch (passwords_.check(config.users, credentials, request.client())) {
      case PasswordCheck::Outcome::right:
        return true;
      case PasswordCheck::Outcome::wrong:
        break;
      case PasswordCheck::Outcome::busy:
        response.fail(503, "too many passwords are being checked");
        response.headers.emplace_back("Retry-After", "1");
        return false;
    }
  }
  response.fail(401, "a user name and a password are required");
  response.headers.emplace_back("WWW-Authenticate", R"(Basic realm="intel-gpu-exporter", charset="UTF-8")");
  return false;
}

}  // namespace igpu::exporter
