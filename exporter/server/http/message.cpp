// SPDX-License-Identifier: Apache-2.0
#include "server/http/message.h"

#include <civetweb.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <stdexcept>

#include "text/text.h"

namespace igpu::exporter {
namespace {

bool is_hex(char c) { return is_lower_hex(to_lower(c)); }

// The size of the head; 0: incomplete; npos: not a request head.
std::size_t head_size(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto c = static_cast<unsigned char>(bytes[i]);
    if (c == '\n') {
      if (i + 1 < bytes.size() && bytes[i + 1] == '\n') return i + 2;
      if (i + 2 < bytes.size() && bytes[i + 1] == '\r' && bytes[i + 2] == '\n') return i + 3;
    } else if ((c < ' ' && c != '\r' && c != '\t') || c == 127) {
      return std::string_view::npos;
    }
  }
  return 0;
}

bool is_port(std::string_view text) {
  return text.empty() || (text[0] == ':' && text.find_first_not_of("0123456789", 1) == std::string_view::npos);
}

// A name or an address, optionally with a port; empty is legal, too (RFC 9112 section 3.2, RFC 3986
// section 3.2.2).
bool is_host(std::string_view value) {
  static constexpr std::string_view kMarks = "-._~!$&'()*+,;=";
  const auto plain = [](char c) { return is_letter_or_digit(c) || kMarks.find(c) != std::string_view::npos; };
  if (value.starts_with('[')) {
    const std::size_t end = value.find(']');
    if (end == std::string_view::npos || end == 1) return false;
    const std::string_view address = value.substr(1, end - 1);  // may contain a zone
    return is_port(value.substr(end + 1)) &&
           std::ranges::all_of(address, [&](char c) { return c == ':' || c == '%' || plain(c); });
  }
  const std::size_t end = std::min(value.find(':'), value.size());
  for (std::size_t i = 0; i < end; ++i) {
    if (value[i] == '%' && i + 2 < end && is_hex(value[i + 1]) && is_hex(value[i + 2])) {
      i += 2;
    } else if (!plain(value[i])) {
      return false;
    }
  }
  return is_port(value.substr(end));
}

// Only digits (RFC 9110 section 8.6); the largest number on overflow.
std::optional<std::uint64_t> body_size(std::string_view digits) {
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  std::uint64_t size = 0;
  const std::errc error = std::from_chars(digits.data(), digits.data() + digits.size(), size).ec;
  return error == std::errc() ? size : std::numeric_limits<std::uint64_t>::max();
}

template <class Visit>
void for_each_item(std::string_view list, Visit visit) {  // skips empty items (RFC 9110 section 5.6.1)
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view item = trimmed(list.substr(0, comma));
    if (!item.empty()) visit(item);
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
}

// Reads the lines after the first one, strictly: requests are smuggled through lines that another program on the path
// parses as a different header (RFC 9112 sections 5.1, 5.2 and 6.3).
class Headers {
 public:
  explicit Headers(RequestFraming& framing) : framing_(framing) {}

  // False: not allowed in a request.
  bool add(std::string_view line) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) return false;
    ++framing_.headers;
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = trimmed(line.substr(colon + 1));
    if (equal_ignoring_case(name, "content-length")) return length(value);
    if (equal_ignoring_case(name, "transfer-encoding")) return codings(value);
    if (equal_ignoring_case(name, "connection")) {
      if (has_token(value, "close")) framing_.keep_alive = false;
    } else if (equal_ignoring_case(name, "host")) {
      ++hosts_;
      return is_host(value);
    }
    return true;
  }

  unsigned hosts() const { return hosts_; }

 private:
  // RFC 9112 sections 6.1 and 7.1: chunked once, and last.
  bool codings(std::string_view list) {
    const bool again = framing_.chunked_body;
    framing_.chunked_body = true;
    bool some = false;
    bool valid = true;
    for_each_item(list, [&](std::string_view coding) {
      if (!equal_ignoring_case(coding, "chunked")) {
        framing_.unknown_coding = true;
      } else if (again || some) {
        valid = framing_.unknown_coding;  // 501 is more specific than 400
      }
      some = true;
    });
    return some && valid;
  }

  bool length(std::string_view value) {
    const std::optional<std::uint64_t> size = body_size(value);
    if (!size || (length_ && *length_ != *size)) return false;
    length_ = size;
    framing_.announced_body = *size;
    return true;
  }

  RequestFraming& framing_;
  std::optional<std::uint64_t> length_;
  unsigned hosts_ = 0;
};

// Removes the first line, without its end. False: a carriage return in the middle of a line, which is ambiguous.
bool next_line(std::string_view& head, std::string_view& line) {
  const std::size_t end = head.find('\n');
  line = head.substr(0, end);
  head.remove_prefix(end == std::string_view::npos ? head.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line.find('\r') == std::string_view::npos;
}

struct RequestLine {
  std::string_view method, target, version;
};

// Three words with one space between them (RFC 9112 section 3). Programs disagree about all other whitespace: CivetWeb
// skips it before the method, others reject it. nullopt: malformed.
std::optional<RequestLine> request_line(std::string_view line) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == last) return std::nullopt;
  const RequestLine parts{line.substr(0, first), line.substr(first + 1, last - first - 1), line.substr(last + 1)};
  const auto is_word = [](std::string_view word) {
    return !word.empty() && word.find_first_of(" \t") == std::string_view::npos;
  };
  if (!is_token(parts.method) || !is_word(parts.target) || !is_word(parts.version)) return std::nullopt;
  return parts;
}

// head: including its empty line. False: malformed.
bool read_head(std::string_view head, RequestFraming& framing) {
  std::string_view line;
  if (!next_line(head, line)) return false;
  const std::optional<RequestLine> request = request_line(line);
  if (!request) return false;
  framing.target_size = request->target.size();
  const bool http11 = request->version == "HTTP/1.1";
  if (http11 || request->version == "HTTP/1.0") {
    framing.names_no_resource =
        request->method == "CONNECT" || (request->method == "OPTIONS" && request->target == "*");
  }
  framing.keep_alive = http11;
  Headers headers(framing);
  while (next_line(head, line) && !line.empty()) {
    if (!headers.add(line)) return false;
  }
  // RFC 9112 section 3.2: exactly one Host.
  return head.empty() && line.empty() && (http11 ? headers.hosts() == 1 : headers.hosts() <= 1);
}

}  // namespace

std::string event_bytes(std::string_view data, std::string_view name) {
  std::string bytes;
  bytes.reserve(data.size() + name.size() + 24);
  if (!name.empty()) bytes.append("event: ").append(name).append("\n");
  return bytes.append("data: ").append(data).append("\n\n");
}

void HttpResponse::fail(int code, std::string_view message) {
  *this = {};
  status = code;
  body.assign(message);
  body += '\n';
}

std::string url_decoded(std::string_view text) {
  std::string decoded(text.size() + 1, '\0');  // with CivetWeb's terminating zero
  const int size = mg_url_decode(text.data(), static_cast<int>(text.size()), decoded.data(),
                                 static_cast<int>(decoded.size()), /*is_form_url_encoded=*/0);
  decoded.resize(static_cast<std::size_t>(size));
  return decoded;
}

std::vector<std::string> query_values(std::string_view query, std::string_view name) {
  if (query.find("%00") != std::string_view::npos) throw std::invalid_argument("a zero byte in the query");
  std::string text(query);
  const int most = mg_split_form_urlencoded(text.data(), nullptr, 0);
  std::vector<mg_header> variables(static_cast<std::size_t>(most));
  const int number = mg_split_form_urlencoded(text.data(), variables.data(), static_cast<unsigned>(most));
  std::vector<std::string> values;
  for (int i = 0; i < number; ++i) {
    const auto& [variable, value] = variables[static_cast<std::size_t>(i)];
    if (variable == name) values.emplace_back(value == nullptr ? "" : value);
  }
  return values;
}

std::optional<Target> split_target(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!equal_ignoring_case(target.substr(0, scheme.size()), scheme)) continue;
    const std::size_t end = std::min(target.find_first_of("/?", scheme.size()), target.size());
    const std::string_view authority = target.substr(scheme.size(), end - scheme.size());
    const std::size_t bracket = authority.find(']');
    if (authority.empty() || authority.starts_with('[') != (bracket != std::string_view::npos)) return std::nullopt;
    target.remove_prefix(end);
    if (!target.starts_with('/')) return Target{"/", target.substr(std::min<std::size_t>(1, target.size()))};
    break;
  }
  if (!target.starts_with('/')) return std::nullopt;
  const std::size_t end = std::min(target.find('?'), target.size());
  return Target{target.substr(0, end), target.substr(std::min(end + 1, target.size()))};
}

std::string for_strict_parser(std::string_view head) {
  std::string made(head);
  const std::size_t start = std::min(made.find_first_not_of("\r\n"), made.size());
  const std::size_t end = std::min(made.find_first_of(" \r\n", start), made.size());
  const std::string_view method = std::string_view(made).substr(start, end - start);
  const bool other = is_token(method) && method != "GET" && method != "HEAD";
  std::replace(made.begin() + static_cast<std::ptrdiff_t>(std::min(made.find('\n', end), made.size())), made.end(),
               '\t', ' ');
  // Those that are answered nowhere look alike, and not like POST.
  if (other && method != "POST") made.replace(start, end - start, "PUT");
  return made;
}

bool has_token(std::string_view list, std::string_view token) {
  bool found = false;
  for_each_item(list, [&](std::string_view item) { found = found || equal_ignoring_case(item, token); });
  return found;
}

RequestFraming scan_request(std::string_view bytes) {
  // Empty lines before a request do not belong to it (RFC 9112 section 2.2).
  std::size_t skipped = 0;
  while (bytes.substr(skipped).starts_with("\r\n") || bytes.substr(skipped).starts_with('\n')) {
    skipped += bytes[skipped] == '\r' ? 2 : 1;
  }
  bytes.remove_prefix(skipped);
  RequestFraming framing;
  const std::size_t size = head_size(bytes);
  if (size == 0) return framing;
  if (size == std::string_view::npos || !read_head(bytes.substr(0, size), framing)) {
    framing = {};
    framing.state = RequestFraming::State::malformed;
    return framing;
  }
  framing.state = RequestFraming::State::complete;
  framing.head_size = skipped + size;
  return framing;
}

}  // namespace igpu::exporter
