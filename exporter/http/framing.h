// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace igpu::exporter {

// Where one HTTP/1 request ends and what follows it on the connection: all that the front has to know. What the request
// says is CivetWeb's to parse, and the end of the head is where CivetWeb sees it (RFC 9112 sections 2 and 6).
//
// Malformed is what could be read in more than one way: a header line that is not a name, directly followed by a colon
// (folded lines among them), a length that is no number or that is said in two ways, not exactly one Host or one that
// is no host, chunks within chunks, bytes that no head can have.
struct RequestFraming {
  enum class State { incomplete, complete, malformed };
  State state = State::incomplete;
  std::size_t head_size = 0;         // with the empty line
  std::size_t target_size = 0;       // of the first line's second word
  std::size_t headers = 0;           // lines
  bool keep_alive = false;           // another request may follow
  bool chunked_body = false;         // Transfer-Encoding: a body of unknown size follows
  bool unknown_coding = false;       // Transfer-Encoding: other than "chunked"
  bool names_no_resource = false;    // "OPTIONS *" and CONNECT: about the server, or about another one
  std::uint64_t announced_body = 0;  // Content-Length; the largest number if it does not fit
};

RequestFraming scan_request(std::string_view bytes);

struct Target {
  std::string_view path;   // begins with a slash
  std::string_view query;  // "" if there is none
};

// Also of a target like "http://host/path?query", as clients of a proxy send it (RFC 9112 section 3.2.2: a server has
// to accept it). Nothing if it names no path of this server.
std::optional<Target> split_target(std::string_view target);

// The head for a parser that knows few methods and no tabs: with POST for every method but GET and HEAD (which alone
// are answered), and with blanks for the tabs in values, which mean the same (RFC 9110 section 5.5).
std::string for_strict_parser(std::string_view head);

// "Close, Upgrade" holds "close": words separated by commas, in any case.
bool has_token(std::string_view list, std::string_view token);

}  // namespace igpu::exporter
