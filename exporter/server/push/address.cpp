// SPDX-License-Identifier: Apache-2.0
#include "server/push/address.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <utility>

#include "platform/regular_file.h"
#include "text/text.h"

namespace igpu::exporter {
namespace {

std::string upper(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), to_upper);
  return out;
}

struct Parts {
  std::string scheme, host, path;
  std::string_view user;  // with the @
  std::optional<std::uint16_t> port;
};

// reject(why): throws.
template <class Reject>
Parts split(std::string_view url, std::string_view default_scheme, const Reject& reject) {
  for (const char c : url) {
    if (static_cast<unsigned char>(c) <= ' ' || static_cast<unsigned char>(c) >= 0x7f || c == '\\' || c == '"')
      reject("holds a character that no URL has");
  }
  Parts parts;
  const std::size_t slashes = url.find("://");
  parts.scheme = lower(slashes == url.npos ? default_scheme : url.substr(0, slashes));
  if (slashes != url.npos) url.remove_prefix(slashes + 3);
  std::string_view authority = url.substr(0, url.find_first_of("/?#"));
  parts.path = url.substr(authority.size());
  if (const std::size_t at = authority.rfind('@'); at != authority.npos) {
    parts.user = authority.substr(0, at + 1);
    authority.remove_prefix(at + 1);
  }
  const bool bracketed = authority.starts_with('[');
  const std::size_t bracket = bracketed ? authority.find(']') : 0;
  if (bracket == authority.npos) reject("lacks a ]");
  const std::size_t colon = authority.find(':', bracket);
  if (!bracketed && colon != authority.npos && authority.find(':', colon + 1) != authority.npos)
    reject("is an IPv6 address without [ ]");
  parts.host = bracketed ? authority.substr(1, bracket - 1) : authority.substr(0, colon);
  if (parts.host.empty()) reject("names no host");
  if (bracketed && authority.size() > bracket + 1 && authority[bracket + 1] != ':') reject("has no valid port");
  if (colon == authority.npos) return parts;
  parts.port = number_of<std::uint16_t>(authority.substr(colon + 1));
  if (parts.port.value_or(0) == 0) reject("has no valid port");
  return parts;
}

// A network of no_proxy in CIDR notation, or one address.
bool in_network(const std::string& host, std::string_view network) {
  const std::size_t slash = network.find('/');
  const std::string base(network.substr(0, slash));
  for (const int family : {AF_INET, AF_INET6}) {
    std::array<unsigned char, 16> address{}, prefix{};
    if (::inet_pton(family, host.c_str(), address.data()) != 1) continue;
    if (::inet_pton(family, base.c_str(), prefix.data()) != 1) continue;
    unsigned bits = family == AF_INET ? 32 : 128;
    if (slash != network.npos) {
      const auto given = number_of<unsigned>(network.substr(slash + 1));
      if (!given || *given > bits) return false;
      bits = *given;
    }
    for (unsigned bit = 0; bit < bits; ++bit) {
      const unsigned mask = 0x80U >> bit % 8;
      if (((address[bit / 8] ^ prefix[bit / 8]) & mask) != 0) return false;
    }
    return true;
  }
  return false;
}

// no_proxy: "*", or names separated by commas or spaces, each for itself and what ends in it.
bool needs_no_proxy(const std::string& host, std::string_view list) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find_first_of(", "), list.size());
    std::string_view entry = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    if (entry == "*") return true;
    while (entry.starts_with('.')) entry.remove_prefix(1);
    if (entry.starts_with('[') && entry.ends_with(']')) entry = entry.substr(1, entry.size() - 2);
    if (entry.empty()) continue;
    const std::string name = lower(entry);
    const std::string of = lower(host);
    if (of == name || of.ends_with("." + name) || in_network(of, name)) return true;
  }
  return false;
}

const char* first_of(const PushEnvironment& environment, std::initializer_list<std::string> names) {
  for (const std::string& name : names) {
    const char* const value = environment(name.c_str());
    if (value != nullptr && *value != '\0') return value;
  }
  return nullptr;
}

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

bool is_address(const std::string& with_zone) {
  const std::string host = with_zone.substr(0, with_zone.find("%25"));
  std::array<unsigned char, 16> address{};
  return ::inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
}

std::string PushAddress::authority() const {
  return (host.find(':') == host.npos ? host : "[" + host + "]") + ":" + std::to_string(port);
}

PushAddress parse_push_address(std::string_view url, std::initializer_list<PushScheme> schemes,
                               std::string_view credentials_flag) {
  // A URL with a password is not repeated.
  const std::string shown = url.find('@') == url.npos ? "\"" + std::string(url) + "\"" : std::string("the URL");
  const auto reject = [&](const std::string& why) { throw std::invalid_argument(shown + " " + why); };
  if (url.find("://") == url.npos)
    reject("does not begin with a scheme such as " + std::string(schemes.begin()->name) + "://");
  Parts parts = split(url, "", reject);
  const auto* const scheme =
      std::ranges::find_if(schemes, [&](const PushScheme& known) { return known.name == parts.scheme; });
  if (scheme == schemes.end()) {
    std::string known;
    for (const PushScheme& other : schemes) known += (known.empty() ? "" : " nor ") + std::string(other.name);
    reject("is neither " + known);
  }
  if (!parts.user.empty()) {
    reject(
        "holds a user or password, which every user of this machine can read on the command line; put it into a "
        "file for " +
        std::string(credentials_flag));
  }
  if (parts.path.find_first_of("?#") != parts.path.npos) reject("has a query or a fragment");
  // The process that talks to the receiver may not ask for the number of an interface.
  if (const std::size_t zone = parts.host.find('%'); zone != parts.host.npos) {
    std::string name = parts.host.substr(zone + 1);
    unsigned number = ::if_nametoindex(name.c_str());
    if (number == 0 && name.starts_with("25")) number = ::if_nametoindex((name = name.substr(2)).c_str());
    if (number == 0) number = number_of<unsigned>(name).value_or(0);
    if (number == 0 || parts.host.find(':') == parts.host.npos)
      reject("names the network interface " + name + ", which is not there");
    parts.host = parts.host.substr(0, zone) + "%25" + std::to_string(number);
  }
  return {parts.scheme, parts.host, parts.path, parts.port.value_or(scheme->port), scheme->tls};
}

PushRoute route_to(PushAddress address, const PushEnvironment& environment) {
  PushRoute route{std::move(address), "", "", {}};
  const PushAddress& to = route.address;
  route.endpoint = {to.host, to.port};
  const char* const none = first_of(environment, {"no_proxy", "NO_PROXY"});
  if (none != nullptr && needs_no_proxy(to.host.substr(0, to.host.find('%')), none)) return route;
  const std::string own = to.scheme + "_proxy";
  // HTTP_PROXY is what a CGI program gets from a client's header Proxy.
  const char* proxy = first_of(environment, {own, to.scheme == "http" ? own : upper(own), "all_proxy", "ALL_PROXY"});
  if (proxy == nullptr) return route;
  const auto reject = [](const std::string& why) {
    throw std::invalid_argument("the proxy of the environment (*_proxy) " + why);
  };
  const Parts parts = split(proxy, "http", reject);
  std::uint16_t port = 1080;  // as in curl
  if (parts.scheme == "https") {
    port = 443;
  } else if (parts.scheme != "http" && parts.scheme != "socks5h") {
    reject("is none of http://, https:// and socks5h://: change it, or add the host to no_proxy");
  }
  route.endpoint = {parts.host, parts.port.value_or(port)};
  route.proxy = parts.scheme + "://" + PushAddress{"", route.endpoint.host, "", route.endpoint.port, false}.authority();
  route.proxy_user = parts.user;
  return route;
}

std::string PushRoute::proxy_with_user() const {
  std::string url = proxy;
  return proxy_user.empty() ? url : url.insert(url.find("://") + 3, proxy_user);
}

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
