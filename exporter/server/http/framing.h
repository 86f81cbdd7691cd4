// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace igpu::exporter {

// Finds the end of an HTTP/1 request and what follows it on the connection, which is all that the front needs. CivetWeb
// parses the request itself and finds the same end of the head (RFC 9112 sections 2 and 6).
//
// Malformed means ambiguous: a first line that is not three words with single spaces between them, a header line that
// is not a name directly followed by a colon (including folded lines), a length that is not a number or is given in two
// ways, a missing, repeated or invalid Host, nested chunked coding, bytes that no head may contain.
struct RequestFraming {
  enum class State { incomplete, complete, malformed };
  State state = State::incomplete;
  std::size_t head_size = 0;         // including the empty line
  std::size_t target_size = 0;       // bytes
  std::size_t headers = 0;           // lines
  bool keep_alive = false;           // another request may follow
  bool chunked_body = false;         // Transfer-Encoding: a body of unknown size follows
  bool unknown_coding = false;       // Transfer-Encoding: other than "chunked"
  bool names_no_resource = false;    // "OPTIONS *" and CONNECT: about this server or another one
  std::uint64_t announced_body = 0;  // Content-Length; the largest number if it does not fit
};

RequestFraming scan_request(std::string_view bytes);

struct Target {
  std::string_view path;   // starts with a slash
  std::string_view query;  // "" if there is none
};

// Also accepts a target like "http://host/path?query", as sent to proxies (RFC 9112 section 3.2.2 requires servers to
// accept it). nullopt if it names no path of this server.
std::optional<Target> split_target(std::string_view target);

// Rewrites the head for a parser that knows few methods and no tabs: PUT for every method except GET, HEAD and POST
// (no page answers it), and spaces for tabs in values, which are equivalent (RFC 9110 section 5.5).
std::string for_strict_parser(std::string_view head);

// "Close, Upgrade" contains "close": a comma-separated list, case-insensitive.
bool has_token(std::string_view list, std::string_view token);

}  // namespace igpu::exporter
