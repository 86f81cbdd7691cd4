// SPDX-License-Identifier: Apache-2.0
#include "server/push/credentials.h"

#include <sys/stat.h>

#include <cstdint>
#include <stdexcept>
#include <string_view>

#include "platform/regular_file.h"
#include "text/ascii.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kMostCredentials = 64 << 10;
constexpr std::size_t kMostAuthorities = 4 << 20;

std::string base64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += 3) {
    std::uint32_t bits = 0;
    for (std::size_t i = at; i < at + 3; ++i)
      bits = bits << 8U | (i < text.size() ? static_cast<unsigned char>(text[i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i) out += at + i > text.size() ? '=' : kDigits[bits >> (18 - 6 * i) & 63U];
  }
  return out;
}

}  // namespace

std::string without_credentials(std::string text, const PushCredentials& credentials) {
  std::vector<std::string> secrets{credentials.password};
  if (!credentials.user.empty()) secrets.push_back(base64(credentials.user + ":" + credentials.password));
  for (const std::string& header : credentials.headers) {
    const std::string_view value = trimmed(std::string_view(header).substr(header.find(':') + 1));
    secrets.emplace_back(value);
    secrets.emplace_back(value.substr(value.rfind(' ') + 1));  // "Bearer TOKEN"
  }
  for (const std::string& secret : secrets) {
    for (std::size_t at = 0; !secret.empty() && (at = text.find(secret, at)) != text.npos; at += 3)
      text.replace(at, secret.size(), "***");
  }
  return text;
}

PushCredentials parse_credentials(std::string_view text) {
  PushCredentials credentials;
  while (!text.empty()) {
    const std::string_view line = trimmed(take_until(text, '\n'));
    if (line.empty() || line.front() == '#') continue;
    for (const char c : line)
      if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) throw std::invalid_argument("holds a control character");
    const std::size_t colon = line.find(':');
    if (colon == 0 || colon == line.npos)
      throw std::invalid_argument("has a line that is neither NAME:PASSWORD nor \"Header: value\"");
    const bool header = line.substr(colon + 1).starts_with(' ') && is_token(line.substr(0, colon));
    if (!credentials.user.empty() || (!header && !credentials.headers.empty()))
      throw std::invalid_argument("has more than one line; NAME:PASSWORD stands alone");
    if (header) {
      credentials.headers.emplace_back(line);
    } else {
      credentials.user = line.substr(0, colon);
      credentials.password = line.substr(colon + 1);
    }
  }
  if (credentials.user.empty() && credentials.headers.empty()) throw std::invalid_argument("is empty");
  return credentials;
}

PushCredentials read_credentials(const std::string& path) {
  try {
    const RegularFile file(path);
    const bool readable = (file.mode() & S_IROTH) != 0;
    if (readable || (file.mode() & S_IWOTH) != 0)
      throw std::runtime_error(path + " can be " + (readable ? "read" : "changed") +
                               " by every user of this machine: chmod o-rw " + path +
                               " (a Secret of Kubernetes: defaultMode 0440 and fsGroup, docs/integrations.md)");
    return parse_credentials(read_regular_file(file, kMostCredentials));
  } catch (const FileError& error) {
    throw std::runtime_error(path + ": " + error.what());
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(path + " " + error.what());
  }
}

std::string read_authorities(const std::string& path) {
  std::string text = with_path(path, [&] { return read_regular_file(path, kMostAuthorities); });
  if (text.find("-----BEGIN CERTIFICATE-----") == text.npos)
    throw std::runtime_error(path + " holds no certificate (PEM)");
  return text;
}

}  // namespace igpu::exporter
