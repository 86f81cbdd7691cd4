// SPDX-License-Identifier: Apache-2.0
#include "server/web_config/config.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <stdexcept>

#include "igpu/duration.h"
#include "igpu/words.h"
#include "text/text.h"
#include "text/yaml_tree.h"

namespace igpu::exporter {
namespace {

using Keys = std::span<const std::string_view>;

// A mapping with fixed keys. A null value counts as a missing one.
class Section {
 public:
  Section(const YamlNode& node, std::string name, Keys known) : name_(std::move(name)) {
    if (node.kind == YamlNode::Kind::null) return;
    if (node.kind != YamlNode::Kind::mapping) {
      throw YamlError(node.line, (name_.empty() ? "the file" : name_) + " must be a mapping of keys to values");
    }
    node_ = &node;
    for (const YamlNode::Entry& entry : node.entries) {
      if (std::ranges::find(known, entry.key) != known.end()) continue;
      throw YamlError(entry.line, where() + "unknown key " + in_quotes(entry.key) + "; known keys: " + joined(known));
    }
  }

  // The value of the key; null if it is absent or null.
  const YamlNode* find(std::string_view key) const {
    const YamlNode::Entry* const found = entry(key);
    return found == nullptr || found->value->kind == YamlNode::Kind::null ? nullptr : found->value.get();
  }

  // Also if its value is null.
  const YamlNode::Entry* entry(std::string_view key) const {
    if (node_ == nullptr) return nullptr;
    const auto found =
        std::ranges::find_if(node_->entries, [&](const YamlNode::Entry& entry) { return entry.key == key; });
    return found == node_->entries.end() ? nullptr : &*found;
  }

  const YamlNode& section(std::string_view key) const {
    static const YamlNode nothing;
    const YamlNode* node = find(key);
    return node == nullptr ? nothing : *node;
  }

  std::string text(std::string_view key) const {
    const YamlNode* node = find(key);
    return node == nullptr ? std::string() : scalar(*node, key);
  }

  bool boolean(std::string_view key, bool otherwise) const {
    const YamlNode* node = find(key);
    if (node == nullptr) return otherwise;
    // The spellings of YAML 1.1, which the toolkit's library accepts.
    for (const char* yes : {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y"}) {
      if (node->plain && node->text == yes) return true;
    }
    for (const char* no : {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "n", "N"}) {
      if (node->plain && node->text == no) return false;
    }
    fail(*node, key, "must be true or false");
  }

  std::vector<std::pair<std::string, std::size_t>> list(std::string_view key) const {
    std::vector<std::pair<std::string, std::size_t>> out;
    const YamlNode* node = find(key);
    if (node == nullptr) return out;
    if (node->kind != YamlNode::Kind::sequence) fail(*node, key, "must be a list");
    for (const std::shared_ptr<const YamlNode>& item : node->items) {
      out.emplace_back(scalar(*item, key), item->line);
    }
    return out;
  }

  bool any() const { return node_ != nullptr && !node_->entries.empty(); }
  std::size_t line() const { return node_ == nullptr ? 1 : node_->line; }

  [[noreturn]] void fail(const YamlNode& node, std::string_view key, const std::string& what) const {
    fail(node.line, key, what);
  }
  [[noreturn]] void fail(std::size_t line, std::string_view key, const std::string& what) const {
    throw YamlError(line, where() + std::string(key) + " " + what);
  }

 private:
  std::string where() const { return name_.empty() ? name_ : name_ + ": "; }

  std::string scalar(const YamlNode& node, std::string_view key) const {
    if (node.kind != YamlNode::Kind::scalar) fail(node, key, "must be text");
    return node.text;
  }

  std::string name_;
  const YamlNode* node_ = nullptr;
};

template <class T>
struct Named {
  std::string_view name;
  T value;
};

template <class T, std::size_t N>
const T* find_named(const Named<T> (&table)[N], std::string_view name) {
  for (const Named<T>& row : table) {
    if (row.name == name) return &row.value;
  }
  return nullptr;
}

template <class T, std::size_t N>
std::string names_of(const Named<T> (&table)[N]) {
  std::vector<std::string_view> names;
  for (const Named<T>& row : table) names.push_back(row.name);
  return joined(names);
}

constexpr Named<TlsVersion> kVersions[] = {{"TLS13", TlsVersion::tls13},
                                           {"TLS12", TlsVersion::tls12},
                                           {"TLS11", TlsVersion::tls11},
                                           {"TLS10", TlsVersion::tls10}};

constexpr Named<ClientAuth> kClientAuth[] = {{"NoClientCert", ClientAuth::none},
                                             {"RequestClientCert", ClientAuth::request},
                                             {"RequireAnyClientCert", ClientAuth::require_any},
                                             {"RequireClientCert", ClientAuth::require_any},  // an older name
                                             {"VerifyClientCertIfGiven", ClientAuth::verify_if_given},
                                             {"RequireAndVerifyClientCert", ClientAuth::require_and_verify}};

constexpr Named<std::string_view> kGroups[] = {
    {"CurveP256", "P-256"}, {"CurveP384", "P-384"}, {"CurveP521", "P-521"}, {"X25519", "X25519"}};

constexpr Named<std::string_view> kTls13Ciphers[] = {
    {"TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256"},
    {"TLS_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384"},
    {"TLS_CHACHA20_POLY1305_SHA256", "TLS_CHACHA20_POLY1305_SHA256"},
};

// The names of Go's tls.CipherSuites() for TLS 1.2 and older, with OpenSSL's names. (Newer Go has dropped TLS_RSA_*.)
constexpr Named<std::string_view> kCiphers[] = {
    {"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256"},
    {"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384"},
    {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"},
    {"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384"},
    {"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"},
    {"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "ECDHE-ECDSA-AES128-SHA"},
    {"TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "ECDHE-ECDSA-AES256-SHA"},
    {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "ECDHE-RSA-AES128-SHA"},
    {"TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "ECDHE-RSA-AES256-SHA"},
    {"TLS_RSA_WITH_AES_128_GCM_SHA256", "AES128-GCM-SHA256"},
    {"TLS_RSA_WITH_AES_256_GCM_SHA384", "AES256-GCM-SHA384"},
    {"TLS_RSA_WITH_AES_128_CBC_SHA", "AES128-SHA"},
    {"TLS_RSA_WITH_AES_256_CBC_SHA", "AES256-SHA"},
};

void add_once(std::vector<std::string>& list, std::string_view item) {
  if (std::ranges::find(list, item) == list.end()) list.emplace_back(item);
}

// file_key and inline_key are alternatives for one value.
PemSource pem_source(const Section& section, std::string_view file_key, std::string_view inline_key,
                     const std::filesystem::path& folder) {
  PemSource source;
  const std::string path = section.text(file_key);
  source.text = section.text(inline_key);
  if (!path.empty() && !source.text.empty()) {
    section.fail(*section.find(inline_key), inline_key, "and " + std::string(file_key) + " exclude each other");
  }
  if (path.find('\0') != std::string::npos) section.fail(*section.find(file_key), file_key, "is not a path");
  if (!path.empty()) source.path = (folder / path).string();
  source.key = path.empty() && !source.text.empty() ? inline_key : file_key;
  const YamlNode* node = section.find(source.key);
  source.line = node == nullptr ? section.line() : node->line;
  return source;
}

// The value that the key's word has in the table; otherwise if the key is absent.
template <class T, std::size_t N>
T one_of(const Named<T> (&table)[N], const Section& section, std::string_view key, T otherwise) {
  const YamlNode* node = section.find(key);
  if (node == nullptr) return otherwise;
  const T* found = find_named(table, section.text(key));
  if (found == nullptr) section.fail(*node, key, "must be one of " + names_of(table));
  return *found;
}

void read_ciphers(const Section& section, TlsSettings& tls) {
  constexpr std::string_view kKey = "cipher_suites";
  for (const auto& [name, line] : section.list(kKey)) {
    if (const std::string_view* old = find_named(kCiphers, name)) {
      add_once(tls.ciphers, *old);
    } else if (const std::string_view* tls13 = find_named(kTls13Ciphers, name)) {
      add_once(tls.tls13_ciphers, *tls13);
    } else {
      section.fail(line, kKey,
                   "contains the unknown name " + in_quotes(name) + "; known names: " + names_of(kCiphers) + ", " +
                       names_of(kTls13Ciphers));
    }
  }
  const bool none_for_tls12 = tls.ciphers.empty() && !tls.tls13_ciphers.empty();
  if (!none_for_tls12) return;
  if (tls.max_version < TlsVersion::tls13) {
    section.fail(*section.find(kKey), kKey, "contains only suites of TLS 1.3, which max_version excludes");
  }
  tls.min_version = TlsVersion::tls13;
}

void read_client_auth(const Section& section, TlsSettings& tls) {
  if (!section.text("client_auth_type").empty())
    tls.client_auth = one_of(kClientAuth, section, "client_auth_type", tls.client_auth);
  if (!tls.client_ca.empty() && tls.client_auth == ClientAuth::none) {
    section.fail(tls.client_ca.line, tls.client_ca.key,
                 "needs a client_auth_type: without one no client certificate is requested");
  }
  const YamlNode::Entry* sans = section.entry("client_allowed_sans");
  if (sans == nullptr) return;
  for (const auto& [san, line] : section.list("client_allowed_sans")) add_once(tls.allowed_sans, san);
  if (tls.allowed_sans.empty()) {
    section.fail(sans->line, sans->key, "is empty: list the allowed names, or remove the key to allow all");
  }
  if (!requires_certificate(tls.client_auth)) {
    section.fail(sans->line, sans->key,
                 "needs client_auth_type RequireAndVerifyClientCert or RequireAnyClientCert: with the others a "
                 "client may connect without a certificate");
  }
}

std::optional<TlsSettings> read_tls(const YamlNode& node, const std::filesystem::path& folder) {
  constexpr std::string_view kKeys[] = {"cert_file",
                                        "key_file",
                                        "client_ca_file",
                                        "cert",
                                        "key",
                                        "client_ca",
                                        "client_auth_type",
                                        "client_allowed_sans",
                                        "min_version",
                                        "max_version",
                                        "cipher_suites",
                                        "prefer_server_cipher_suites",
                                        "curve_preferences"};
  const Section section(node, "tls_server_config", kKeys);
  TlsSettings tls;
  tls.certificate = pem_source(section, "cert_file", "cert", folder);
  tls.private_key = pem_source(section, "key_file", "key", folder);
  tls.client_ca = pem_source(section, "client_ca_file", "client_ca", folder);
  if (!section.any()) return std::nullopt;
  if (tls.certificate.empty()) {
    throw YamlError(section.line(), "tls_server_config: cert_file or cert is missing: there is no TLS without it");
  }
  if (tls.private_key.empty()) {
    throw YamlError(section.line(), "tls_server_config: key_file or key is missing: there is no TLS without it");
  }
  tls.min_version = one_of(kVersions, section, "min_version", TlsVersion::tls12);
  tls.max_version = one_of(kVersions, section, "max_version", TlsVersion::tls13);
  if (tls.min_version > tls.max_version) {
    const YamlNode* min = section.find("min_version");
    section.fail(min == nullptr ? *section.find("max_version") : *min, min == nullptr ? "max_version" : "min_version",
                 "leaves no version: min_version is above max_version");
  }
  tls.prefer_server_ciphers = section.boolean("prefer_server_cipher_suites", true);
  read_ciphers(section, tls);
  for (const auto& [name, line] : section.list("curve_preferences")) {
    const std::string_view* group = find_named(kGroups, name);
    if (group == nullptr) {
      section.fail(line, "curve_preferences",
                   "contains the unknown name " + in_quotes(name) + "; known names: " + names_of(kGroups));
    }
    add_once(tls.groups, *group);
  }
  read_client_auth(section, tls);
  return tls;
}

// As Go sends headers: trimmed, and on one line.
std::string header_value(std::string_view text) {
  std::string value(trimmed(text));
  std::ranges::replace_if(
      value, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return value;
}

void read_http(const YamlNode& node, WebConfig& config) {
  constexpr std::string_view kKeys[] = {"http2", "headers"};
  const Section section(node, "http_server_config", kKeys);
  // Both values are accepted: every client of HTTP/2 also speaks HTTP/1.1.
  (void)section.boolean("http2", true);
  constexpr std::string_view kHeaders[] = {"Content-Security-Policy", "X-Frame-Options", "X-Content-Type-Options",
                                           "X-XSS-Protection", "Strict-Transport-Security"};
  const Section headers(section.section("headers"), "http_server_config: headers", kHeaders);
  for (const std::string_view name : kHeaders) {
    const YamlNode::Entry* entry = headers.entry(name);
    if (entry == nullptr) continue;
    const std::string value = header_value(headers.text(name));
    if (name == "X-Frame-Options" && value != "deny" && value != "sameorigin") {
      headers.fail(entry->line, name, "must be deny or sameorigin");
    }
    if (name == "X-Content-Type-Options" && value != "nosniff") headers.fail(entry->line, name, "must be nosniff");
    if (std::ranges::any_of(value,
                            [](char c) { return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == '\x7f'; })) {
      headers.fail(entry->line, name, "contains control characters");
    }
    if (!value.empty()) config.headers.emplace_back(name, value);
  }
}

// What is wrong with the text, without quoting it.
std::string hash_error(std::string_view text) {
  if (text.size() == 60 && text.starts_with("$2") && text[3] == '$' && text[6] == '$' && is_digit(text[4]) &&
      is_digit(text[5]) && bcrypt_cost(text) > kHighestBcryptCost) {
    return "has a cost above " + std::to_string(kHighestBcryptCost) +
           ", which would take minutes for each check: make one with `htpasswd -nBC 10 USER`";
  }
  return "needs a bcrypt hash of 60 characters ($2a$, $2b$ or $2y$), not a password: make one with "
         "`htpasswd -nBC 10 USER`";
}

void read_users(const YamlNode& node, WebConfig& config) {
  if (node.kind == YamlNode::Kind::null) return;
  if (node.kind != YamlNode::Kind::mapping) {
    throw YamlError(node.line, "basic_auth_users must be a mapping of user names to bcrypt hashes");
  }
  for (const YamlNode::Entry& entry : node.entries) {
    const std::string user = "basic_auth_users: " + in_quotes(entry.key);
    if (entry.key.find(':') != std::string::npos) {
      throw YamlError(entry.line, user + " can never log in: a user name must not contain a colon");
    }
    const YamlNode& hash = *entry.value;
    if (hash.kind != YamlNode::Kind::scalar || !is_bcrypt_hash(hash.text)) {
      throw YamlError(entry.line, user + " " + hash_error(hash.text));
    }
    config.users.emplace(entry.key, hash.text);
  }
}

void read_rate_limit(const YamlNode& node, WebConfig& config) {
  constexpr std::string_view kKeys[] = {"interval", "burst"};
  const Section section(node, "rate_limit", kKeys);
  if (const YamlNode* interval = section.find("interval")) {
    const std::optional<Nanoseconds> parsed = parse_duration(section.text("interval"));
    if (!parsed)
      section.fail(*interval, "interval", "must be a duration with a unit, such as 500ms or 1s; 0 means no limit");
    config.rate_limit.interval = *parsed;
  }
  if (const YamlNode* burst = section.find("burst")) {
    const std::optional<unsigned> value = number_of<unsigned>(section.text("burst"));
    if (!burst->plain || !value || *value > 1'000'000)
      section.fail(*burst, "burst", "must be a whole number from 0 to 1000000");
    config.rate_limit.burst = *value;
  }
  if (config.rate_limit.interval > Nanoseconds::zero() && config.rate_limit.burst == 0) {
    throw YamlError(section.line(), "rate_limit: burst must be at least 1: with 0 every request would be rejected");
  }
}

bool ends_with_line_break(std::string_view text) {
  while (text.ends_with('\0')) text.remove_suffix(1);  // UTF-16
  return text.empty() || text.back() == '\n' || text.back() == '\r';
}

}  // namespace

std::vector<std::string> offered_ciphers(const TlsSettings& tls) {
  if (!tls.ciphers.empty()) return tls.ciphers;
  std::vector<std::string> defaults{"ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256",
                                    "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-RSA-AES256-GCM-SHA384",
                                    "ECDHE-ECDSA-CHACHA20-POLY1305", "ECDHE-RSA-CHACHA20-POLY1305"};
  if (tls.min_version < TlsVersion::tls12) {
    for (const char* older :
         {"ECDHE-ECDSA-AES128-SHA", "ECDHE-RSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA", "ECDHE-RSA-AES256-SHA"}) {
      defaults.emplace_back(older);
    }
  }
  return defaults;
}

std::vector<std::string> offered_tls13_ciphers(const TlsSettings& tls) {
  if (!tls.tls13_ciphers.empty()) return tls.tls13_ciphers;
  return {"TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256"};  // OpenSSL's order
}

std::vector<std::string> offered_groups(const TlsSettings& tls) {
  if (!tls.groups.empty()) return tls.groups;
  return {"X25519", "P-256", "P-384", "P-521"};
}

WebConfig parse_web_config(std::string_view text, const std::string& path) {
  constexpr std::string_view kKeys[] = {"tls_server_config", "http_server_config", "basic_auth_users", "rate_limit"};
  try {
    const std::shared_ptr<const YamlNode> root = parse_yaml(text);
    const Section file(*root, "", kKeys);
    WebConfig config;
    config.ends_with_line_break = ends_with_line_break(text);
    config.tls = read_tls(file.section("tls_server_config"), std::filesystem::path(path).parent_path());
    read_http(file.section("http_server_config"), config);
    read_users(file.section("basic_auth_users"), config);
    read_rate_limit(file.section("rate_limit"), config);
    return config;
  } catch (const YamlError& error) {
    throw std::runtime_error(path + ":" + std::to_string(error.line()) + ": " + error.what());
  }
}

}  // namespace igpu::exporter
