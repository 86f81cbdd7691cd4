// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "igpu/unique_fd.h"

// The stream socket that this program shares with a process beside it, which may have been taken over: the program
// sends requests, and each has one answer, in their order (docs/sandbox.md).
namespace igpu::exporter {

struct HelperRequest {
  std::uint32_t what = 0;
  std::int64_t milliseconds = 0;  // for the answer
  std::string_view first, second;
};

// As it is sent.
struct HelperAnswer {
  using Text = std::array<char, 1024>;
  std::uint32_t serial = 0;       // of the request; 0: the report of the start
  std::uint32_t code = 0;         // 0: done; otherwise by helper
  std::int64_t retry_after = -1;  // seconds; -1: none
  std::uint64_t rejected = 0;
  Text problem{}, detail{};  // one line each, cut to fit
};
void put_text(std::string_view text, HelperAnswer::Text& into);

// --- in the other process

// Answers no request: says whether the process has started.
void report_start(int socket, const HelperAnswer& answer);

// Sends what `act` returns for each request, until the other end is closed. Also ends if that sends more bytes than
// these in a text, or what `act` has no answer to: only an attacker within the exporter does.
void serve_requests(int socket, std::uint64_t most_first, std::uint64_t most_second,
                    const std::function<std::optional<HelperAnswer>(const HelperRequest& request)>& act);

// Whether another request has come, which happens if this program has given up the one before.
bool has_more_requests(int socket);

// --- in this program

class HelperSocket {
 public:
  explicit HelperSocket(UniqueFd socket) : socket_(std::move(socket)) {}

  explicit operator bool() const { return static_cast<bool>(socket_); }  // false: the other process has ended
  int descriptor() const { return socket_.get(); }
  void close() { socket_.reset(); }

  // Makes a request the newest one. What is left of an earlier one that was sent in part goes before it, and its answer
  // is passed over. A process that has stopped reading must not make the rest grow: what it has not begun to read is
  // not sent any more.
  void put(const HelperRequest& request);

  // Sends what is left, and receives the answer to the newest request, or the report of the start before the first one.
  // ready(events) waits for the socket (poll(2)), and is false if it does not any more: the next call goes on.
  enum class Exchange { done, given_up, ended };
  Exchange finish(const std::function<bool(short events)>& ready);
  const HelperAnswer& answer() const { return answer_; }

 private:
  Exchange send_rest(const std::function<bool(short events)>& ready);
  Exchange receive_rest(const std::function<bool(short events)>& ready);

  UniqueFd socket_;
  std::string message_;
  std::size_t sent_ = 0, begun_ = 0;  // bytes of it; begun_: where the newest request begins
  HelperAnswer answer_;               // as far as it came
  std::size_t received_ = 0;
  std::uint32_t serial_ = 0;    // of the newest request
  std::int64_t answered_ = -1;  // the last one
};

}  // namespace igpu::exporter
