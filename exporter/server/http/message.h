// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace igpu::exporter {

// HTTP as the routes see it: one request, one response, no sockets. The listener converts these to bytes; routes and
// listener can be tested and replaced independently.

struct Arrival {
  std::chrono::steady_clock::time_point time = std::chrono::steady_clock::time_point::max();  // max: unknown
  bool others_wait = false;  // requests that arrived with this one are answered after it
};

class HttpRequest {
 public:
  virtual ~HttpRequest() = default;
  virtual std::string_view method() const = 0;
  // Percent-decoded once, without the query, otherwise unchanged: dots and slashes are not resolved, and an invalid
  // escape is kept.
  virtual std::string_view path() const = 0;
  virtual std::string_view query() const = 0;  // unchanged; "" if there is none
  // Value of the first header with that name (case-insensitive); "" if there is none.
  virtual std::string_view header(std::string_view name) const = 0;
  virtual bool has_header(std::string_view name) const = 0;  // also an empty one
  // All values of headers with that name, joined by commas: for headers that are lists.
  virtual std::string list_header(std::string_view name) const = 0;
  // Identifies a client: the bytes of an IPv4 address, the /64 network of an IPv6 address; "" for UNIX sockets.
  virtual std::string_view client() const { return {}; }
  virtual Arrival arrival() const { return {}; }
  // Stopped when the client has reset the connection and the answer is no longer needed.
  virtual std::stop_token gone() const { return {}; }
  // Returns when all resets received so far have stopped their requests' gone(), or after a short timeout.
  virtual void notice_resets() const {}
};

// What makes a response the beginning of a stream of server-sent events: more follow until the client leaves.
struct Subscription {
  std::chrono::milliseconds interval{};          // from event to event
  std::chrono::steady_clock::time_point made{};  // the event in the response; a client never gets one twice
  std::shared_ptr<const void> place;             // held as long as the stream lasts
  std::stop_token place_lost;                    // stopped: the stream ends
  std::shared_ptr<const void> accepted_under;    // the rules by which the client was accepted: others end the stream
};

// One event, for all streams.
struct Event {
  std::shared_ptr<const std::string> bytes;  // as they are sent; null: there is none this time
  std::chrono::steady_clock::time_point made{};
  std::shared_ptr<const void> accepted_under;  // the rules that hold now
};

// The bytes of an event with one line of data; of the default kind if it has no name.
std::string event_bytes(std::string_view data, std::string_view name = {});

struct HttpResponse {
  int status = 200;
  std::string_view content_type = "text/plain; charset=utf-8";
  // In addition to the usual ones; of static duration, or kept alive by keeps_alive.
  std::vector<std::pair<std::string_view, std::string_view>> headers;
  std::shared_ptr<const void> keeps_alive;
  std::string body;
  std::shared_ptr<const std::string> shared_body;  // if set, sent instead of body: that of several responses
  std::optional<Subscription> subscription;        // if set, the body is the first event and has no length

  std::string_view content() const { return shared_body ? *shared_body : body; }
  void fail(int code, std::string_view message);
};

// The bytes sent to a client.
struct Answer {
  std::string head;                        // status line and headers, without "Connection" and the empty line
  std::unique_ptr<HttpResponse> response;  // may be null
  bool with_body = true;
  bool close = false;  // no further request on this connection
};

class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  // Called on several threads concurrently. An exception becomes a 500.
  virtual void handle(const HttpRequest& request, HttpResponse& response) = 0;
  // Called once for every response sent, including those of the listener itself (malformed requests).
  virtual void answered(int status) = 0;
  // The next event of the streams that responses have begun; called when one is due, by one thread at a time.
  virtual Event next_event() { return {}; }
};

// Percent-decoded; an invalid escape is kept.
std::string url_decoded(std::string_view text);

// Values of one variable of a query string ("collect[]=a&collect%5B%5D=b"), in order. Names and values are
// percent-decoded and "+" is a space; an invalid escape is kept. Throws std::invalid_argument for an encoded zero byte,
// which would truncate a name or a value.
std::vector<std::string> query_values(std::string_view query, std::string_view name);

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
