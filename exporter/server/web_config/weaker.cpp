// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>

#include "igpu/words.h"
#include "server/web_config/config.h"
#include "text/text.h"

// Whether one key of --web.config.file became weaker: `after` accepts clients or requests that `before` rejected. A
// file that is only half written lacks such keys, so a reload that weakens one is rejected.
//
// A simpler rule, "only certificates and users may change without a restart", would need the same rules for a truncated
// value, and operators could no longer harden a running exporter. So each key has its own.
//
// Two certificates, authorities, users or names are never weaker than each other: they are replaced at run time. A
// value that is a prefix of the earlier one may come from a truncated file and counts as weaker.
namespace igpu::exporter {
namespace {

using NameList = std::vector<std::string>;

bool contains_all(const NameList& in, const NameList& names) {
  return std::ranges::all_of(names, [&](const std::string& name) { return contains(in, name); });
}

// after is a proper prefix of before, as a truncated file leaves it.
bool truncated(std::string_view before, std::string_view after) {
  return after.size() < before.size() && before.starts_with(after);
}

// The last line of `after` has no line break, unlike that of `before`: its value may be truncated.
bool lost_line_break(const WebConfig& before, const WebConfig& after) {
  return before.ends_with_line_break && !after.ends_with_line_break;
}

// A comparison for configurations that both have TLS.
template <bool (*Weaker)(const TlsSettings&, const TlsSettings&)>
bool with_tls(const WebConfig& before, const WebConfig& after) {
  return before.tls && after.tls && Weaker(*before.tls, *after.tls);
}

bool weaker_client_auth(const TlsSettings& before, const TlsSettings& after) {
  return (requires_certificate(before.client_auth) && !requires_certificate(after.client_auth)) ||
         (verifies_certificate(before.client_auth) && !verifies_certificate(after.client_auth));
}

// Without one, certificates of every authority that the machine trusts are accepted.
bool weaker_client_ca(const WebConfig& before, const WebConfig& after) {
  if (!before.tls || !after.tls || before.tls->client_ca.empty() || !verifies_certificate(before.tls->client_auth)) {
    return false;
  }
  const PemSource& was = before.tls->client_ca;
  const PemSource& is = after.tls->client_ca;
  if (is.empty()) return true;
  return !is.path.empty() && is.path != was.path && (truncated(was.path, is.path) || lost_line_break(before, after));
}

bool weaker_sans(const WebConfig& before, const WebConfig& after) {
  if (!before.tls || !after.tls || before.tls->allowed_sans.empty()) return false;
  const NameList& was = before.tls->allowed_sans;
  const NameList& is = after.tls->allowed_sans;
  if (is.empty()) return true;
  return std::ranges::any_of(is, [&](const std::string& name) {
    if (contains(was, name)) return false;
    return lost_line_break(before, after) ||
           std::ranges::any_of(was, [&](const std::string& old) { return truncated(old, name); });
  });
}

// With suites of TLS 1.3 only, older versions cannot be negotiated.
bool only_tls13_by_suites(const TlsSettings& tls) { return tls.ciphers.empty() && !tls.tls13_ciphers.empty(); }

bool weaker_min_version(const TlsSettings& before, const TlsSettings& after) {
  const bool reported_by_suites = only_tls13_by_suites(before) && !only_tls13_by_suites(after);
  return after.min_version < before.min_version && !reported_by_suites;
}

// A lower one removes the better version, a higher one accepts connections that were rejected.
bool weaker_max_version(const TlsSettings& before, const TlsSettings& after) {
  return after.max_version != before.max_version;
}

bool weaker_suites(const TlsSettings& before, const TlsSettings& after) {
  if (!contains_all(offered_tls13_ciphers(before), offered_tls13_ciphers(after))) return true;
  if (after.min_version == TlsVersion::tls13) return false;
  if (only_tls13_by_suites(before)) return true;
  // Suites that come with a lower min_version are reported for that key.
  return before.min_version < TlsVersion::tls13 && after.min_version >= before.min_version &&
         !contains_all(offered_ciphers(before), offered_ciphers(after));
}

bool weaker_preference(const TlsSettings& before, const TlsSettings& after) {
  return before.prefer_server_ciphers && !after.prefer_server_ciphers;
}

bool weaker_groups(const TlsSettings& before, const TlsSettings& after) {
  return !contains_all(offered_groups(before), offered_groups(after));
}

std::optional<std::string_view> header(const WebConfig& config, std::string_view name) {
  for (const auto& [key, value] : config.headers) {
    if (key == name) return value;
  }
  return std::nullopt;
}

constexpr std::string_view kBlanks = " \t\"";  // a value may be quoted

struct Hsts {
  std::uint64_t max_age = 0;
  bool subdomains = false;
  bool preload = false;
};

Hsts parse_hsts(std::string_view text) {
  Hsts out;
  while (!text.empty()) {
    std::string_view directive = trimmed(take_until(text, ';'), kBlanks);
    out.subdomains = out.subdomains || equal_ignoring_case(directive, "includeSubDomains");
    out.preload = out.preload || equal_ignoring_case(directive, "preload");
    if (!equal_ignoring_case(trimmed(take_until(directive, '='), kBlanks), "max-age")) continue;
    const std::string_view number = trimmed(directive, kBlanks);
    const auto error = std::from_chars(number.data(), number.data() + number.size(), out.max_age).ec;
    if (error == std::errc::result_out_of_range) out.max_age = std::numeric_limits<std::uint64_t>::max();
  }
  return out;
}

bool any_change(std::string_view, std::string_view) { return true; }

bool weaker_max_age(std::string_view before, std::string_view after) {
  const Hsts was = parse_hsts(before);
  const Hsts is = parse_hsts(after);
  return is.max_age < was.max_age || (was.subdomains && !is.subdomains) || (was.preload && !is.preload);
}

bool denied(std::string_view before, std::string_view) { return before == "deny"; }

// Removed, or weaker by comparison of two different values.
using CompareValues = bool (*)(std::string_view, std::string_view);
bool weaker_header(const WebConfig& before, const WebConfig& after, std::string_view name, CompareValues weaker) {
  const auto was = header(before, name);
  const auto is = header(after, name);
  if (!was || was == is) return false;
  return !is || weaker(*was, *is);
}

bool weaker_users(const WebConfig& before, const WebConfig& after) {
  return !before.users.empty() && after.users.empty();
}

bool limited(const RateLimit& limit) { return limit.interval > Nanoseconds::zero(); }

bool weaker_interval(const WebConfig& before, const WebConfig& after) {
  return limited(before.rate_limit) && after.rate_limit.interval < before.rate_limit.interval;
}

bool weaker_burst(const WebConfig& before, const WebConfig& after) {
  return limited(before.rate_limit) && limited(after.rate_limit) && after.rate_limit.burst > before.rate_limit.burst;
}

struct KeyStrength {
  std::string_view key;
  bool (*weaker)(const WebConfig& before, const WebConfig& after);
  CompareValues weaker_value = nullptr;  // of a header: its key is its name
};

// One row per key of the file that can be weaker, in the order of the documentation. The others: the server's identity,
// whose mismatched or truncated pair is rejected when it is loaded; client_ca, the same setting as client_ca_file; and
// http2, as HTTP/1.1 is used with both values.
constexpr auto kStrengths = std::to_array<KeyStrength>({
    // Which clients are accepted.
    {"client_auth_type", with_tls<weaker_client_auth>},
    {"client_ca_file", weaker_client_ca},
    {"client_allowed_sans", weaker_sans},
    // The protocol.
    {"min_version", with_tls<weaker_min_version>},
    {"max_version", with_tls<weaker_max_version>},
    {"cipher_suites", with_tls<weaker_suites>},
    {"prefer_server_cipher_suites", with_tls<weaker_preference>},
    {"curve_preferences", with_tls<weaker_groups>},
    {"Strict-Transport-Security", nullptr, weaker_max_age},
    {"Content-Security-Policy", nullptr, any_change},  // whether a policy allows more cannot be decided here
    {"X-Frame-Options", nullptr, denied},
    {"X-Content-Type-Options", nullptr, any_change},
    {"X-XSS-Protection", nullptr, truncated},  // "0" and "1; mode=block" are both recommended; neither is weaker
    {"basic_auth_users", weaker_users},
    {"interval", weaker_interval},
    {"burst", weaker_burst},
});

}  // namespace

std::string weaker_keys(const WebConfig& before, const WebConfig& after) {
  std::vector<std::string_view> keys;
  for (const KeyStrength& strength : kStrengths) {
    const bool weaker = strength.weaker_value != nullptr
                            ? weaker_header(before, after, strength.key, strength.weaker_value)
                            : strength.weaker(before, after);
    if (weaker) keys.push_back(strength.key);
  }
  return joined(keys);
}

}  // namespace igpu::exporter
