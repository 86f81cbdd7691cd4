// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What the routes see of HTTP: one request, one response, no sockets. The listener turns these into bytes, so that it
// can be replaced (and the routes tested) without the other.
namespace igpu::exporter {

class HttpRequest {
 public:
  virtual ~HttpRequest() = default;
  virtual std::string_view method() const = 0;
  // Percent-decoded once, without the query, otherwise as it came: no dots or slashes are resolved, and a broken escape
  // stands for itself.
  virtual std::string_view path() const = 0;
  virtual std::string_view query() const = 0;  // as it came; "" if there is none
  // Value of the first header of that name, whatever its case; "" if there is none.
  virtual std::string_view header(std::string_view name) const = 0;
  // All values of headers of that name, joined by commas: for those that are lists.
  virtual std::string list_header(std::string_view name) const = 0;
  // What tells clients apart: bytes of an IPv4 address, the network (/64) of an IPv6 one; "" for UNIX sockets.
  virtual std::string_view client() const { return {}; }
  // Stopped when nobody waits for the answer any more: the client has reset the connection.
  virtual std::stop_token gone() const { return {}; }
  // Returns when all resets that have arrived so far have stopped their requests' gone(), or after a moment.
  virtual void notice_resets() const {}
};

struct HttpResponse {
  int status = 200;
  std::string_view content_type = "text/plain; charset=utf-8";
  // Beside the usual ones; of static duration, or kept alive by keeps_alive.
  std::vector<std::pair<std::string_view, std::string_view>> headers;
  std::shared_ptr<const void> keeps_alive;
  std::string body;

  void clear();  // keeps the memory
  void fail(int code, std::string_view message);
};

// What goes to a client.
struct Answer {
  std::string head;                        // status line and headers, without "Connection" and the empty line
  std::unique_ptr<HttpResponse> response;  // may be null
  bool with_body = true;
  bool close = false;  // no further request on this connection
};

class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  // Any thread, several at once. What it throws becomes a 500.
  virtual void handle(const HttpRequest& request, HttpResponse& response) = 0;
  // Told once for every response that left, also for those that the listener made itself (malformed requests).
  virtual void answered(int status) = 0;
};

}  // namespace igpu::exporter
