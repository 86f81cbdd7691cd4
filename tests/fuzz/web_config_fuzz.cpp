// SPDX-License-Identifier: Apache-2.0
//
// --web.config.file with any content: a configuration that can be honoured, or one clear line.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "fuzz/fuzz_target.h"
#include "server/web_config/config.h"

using namespace igpu::exporter;

namespace {

constexpr std::size_t kLongestMessage = 2000;

bool printable(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == '\x7f'; });
}

void check_config(const WebConfig& config) {
  for (const auto& [user, hash] : config.users) {
    FUZZ_CHECK(is_bcrypt_hash(hash));
    FUZZ_CHECK(user.find(':') == std::string::npos);
  }
  for (const auto& [name, value] : config.headers) {
    FUZZ_CHECK(!value.empty());
    FUZZ_CHECK(printable(value));
  }
  FUZZ_CHECK(config.rate_limit.interval >= std::chrono::nanoseconds::zero());
  FUZZ_CHECK(config.rate_limit.interval == std::chrono::nanoseconds::zero() || config.rate_limit.burst > 0);
  if (!config.tls) return;
  FUZZ_CHECK(!config.tls->certificate.empty() && !config.tls->private_key.empty());
  FUZZ_CHECK(config.tls->min_version <= config.tls->max_version);
  FUZZ_CHECK(config.tls->client_ca.empty() || config.tls->client_auth != ClientAuth::none);
  FUZZ_CHECK(config.tls->allowed_sans.empty() || config.tls->client_auth == ClientAuth::require_any ||
             config.tls->client_auth == ClientAuth::require_and_verify);
}

}  // namespace

FUZZ_TARGET(web_config) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    check_config(parse_web_config(text, "web.yml"));
  } catch (const std::runtime_error& error) {
    const std::string_view message = error.what();
    FUZZ_CHECK(message.starts_with("web.yml:"));
    FUZZ_CHECK(message.size() < kLongestMessage);
    FUZZ_CHECK(printable(message));
  }
  return 0;
}
