// SPDX-License-Identifier: Apache-2.0
//
// The Authorization header as any client may send it: what is taken for a name and a password is what was encoded.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/fuzz_target.h"
#include "server/web_config/guard.h"

using namespace igpu::exporter;

namespace {

std::string encoded(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += 3) {
    std::uint32_t bits = 0;
    const std::string_view group = text.substr(at, 3);
    for (std::size_t i = 0; i < 3; ++i)
      bits = bits << 8U | (i < group.size() ? static_cast<unsigned char>(group[i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i) out += i <= group.size() ? kDigits[bits >> (18 - 6 * i) & 63U] : '=';
  }
  return out;
}

}  // namespace

FUZZ_TARGET(authorization) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Credentials taken;
  if (parse_basic_authorization(bytes, taken)) {
    FUZZ_CHECK(taken.user.find(':') == std::string::npos);
    FUZZ_CHECK(bytes.size() >= taken.user.size() + taken.password.size() + 7);
  }
  // Round trip: every user name is decoded as it was encoded.
  const std::size_t colon = bytes.find(':');
  Credentials again;
  const bool parsed = parse_basic_authorization("Basic " + encoded(bytes), again);
  FUZZ_CHECK(parsed == (colon != std::string_view::npos));
  if (parsed) FUZZ_CHECK(again.user == bytes.substr(0, colon) && again.password == bytes.substr(colon + 1));
  return 0;
}
