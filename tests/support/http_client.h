// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

// A client that can misbehave: it sends any bytes, slowly, in pieces, and hangs up when it likes.
namespace igpu::test {

struct HttpReply {
  int status = 0;                              // 0: no complete reply came
  std::map<std::string, std::string> headers;  // names in lower case
  std::string head;                            // as it came, without the empty line
  std::string body;

  std::string header(const std::string& lower_case_name) const {
    const auto it = headers.find(lower_case_name);
    return it == headers.end() ? std::string() : it->second;
  }
};

class HttpConnection {
 public:
  // Both throw std::system_error if nothing listens. from: an IPv4 address of this machine to connect from.
  explicit HttpConnection(std::uint16_t port, std::string_view host = "127.0.0.1", const char* from = nullptr);
  explicit HttpConnection(const std::string& unix_path);
  ~HttpConnection();
  HttpConnection(HttpConnection&& other) noexcept;
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  bool send(std::string_view bytes);  // false: the other side hung up
  void half_close();                  // nothing more will be sent
  void reset();                       // hangs up as a crashed client does
  void shrink_receive_buffer();       // so that the server's writes block soon
  // Bytes until the other side closes, or until the time is over.
  std::string receive(std::chrono::milliseconds at_most = std::chrono::seconds(15));
  // Bytes of one complete response; the connection may stay open.
  std::string receive_reply(bool with_body = true);
  // True once the other side has closed (whatever it sent is thrown away).
  bool closed_within(std::chrono::milliseconds at_most);

 private:
  int socket_ = -1;
};

HttpReply parse_reply(std::string_view bytes);

// target with query: "/metrics?collect[]=engines". headers: whole lines, each with "\r\n".
HttpReply http_get(std::uint16_t port, const std::string& target, const std::string& headers = {},
                   const std::string& method = "GET");

std::string gunzip(std::string_view compressed);  // throws std::runtime_error

}  // namespace igpu::test
