// SPDX-License-Identifier: Apache-2.0
#include "view/client/target.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "text/ascii.h"

namespace igpu::exporter {
namespace {

constexpr std::string_view kDefaultPort = ":10068";

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  throw std::invalid_argument("\"" + std::string(text) + "\" " + why);
}

bool has_port(std::string_view authority) {
  const std::size_t bracket = authority.rfind(']');
  return authority.find(':', bracket == std::string_view::npos ? 0 : bracket) != std::string_view::npos;
}

bool is_port(std::string_view text) { return text.size() <= 5 && number_of<std::uint16_t>(text).value_or(0) > 0; }

void check_authority(std::string_view text, std::string_view authority) {
  if (authority.starts_with('[') && authority.find(']') == std::string_view::npos) refuse(text, "lacks a ]");
  const std::size_t bracket = authority.rfind(']');
  const std::size_t colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (authority.substr(0, colon).empty()) refuse(text, "names no host");
  if (colon == std::string_view::npos) return;
  const std::string_view port = authority.substr(colon + 1);
  if (port.find(':') != std::string_view::npos) refuse(text, "is an IPv6 address without [ ]");
  if (!is_port(port)) refuse(text, "has no valid port");
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto byte =
        text.front() == '%' && text.size() > 2 ? number_of<unsigned char>(text.substr(1, 2), 16) : std::nullopt;
    out += byte ? static_cast<char>(*byte) : text.front();
    text.remove_prefix(byte ? 3 : 1);
  }
  return out;
}

}  // namespace

ScrapeTarget parse_target(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) <= ' ' || c == 0x7f || c == '\\' || c == '"')
      refuse("URL", "holds a character that no URL has");
  }
  ScrapeTarget target;
  std::string_view rest = text;
  const std::size_t slashes = text.find("://");
  std::string scheme = "http";
  if (slashes != std::string_view::npos) {
    scheme = std::string(text.substr(0, slashes));
    std::transform(scheme.begin(), scheme.end(), scheme.begin(), to_lower);
    if (scheme != "http" && scheme != "https") refuse(text, "is neither http nor https");
    rest.remove_prefix(slashes + 3);
  }
  std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  std::string_view path = rest.substr(authority.size());
  path = path.substr(0, path.find('#'));
  const std::size_t at = authority.rfind('@');
  if (at != std::string_view::npos) {
    target.credentials = percent_decoded(authority.substr(0, at));
    authority.remove_prefix(at + 1);
  }
  // Errors do not repeat the password.
  check_authority(at == std::string_view::npos ? text : authority, authority);
  target.name = std::string(authority);
  if (slashes == std::string_view::npos && !has_port(authority)) target.name += kDefaultPort;
  target.url = scheme + "://" + target.name;
  if (path.empty() || path == "/") {
    target.url += "/metrics";
  } else {
    if (path.front() == '?') target.url += "/metrics";
    target.url += path;
  }
  return target;
}

}  // namespace igpu::exporter
