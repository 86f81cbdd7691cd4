// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>

#include "igpu/unique_fd.h"
#include "platform/helper_socket.h"
#include "server/push/push_target.h"

// The exporter parses nothing that a receiver sends, and holds no token: a separate process for each receiver does and
// has nothing else. It gets items over a stream socket, and answers with outcomes (docs/sandbox.md).
namespace igpu::exporter {

// Runs in the other process: reports that it has started, then does what it is asked to, until the other end of the
// socket is closed. A new request interrupts an earlier one.
void serve_push(int socket, PushClient& client);
void report_no_start(int socket, std::string_view why);  // called instead if there is no client

// The exporter's end.
class HelperTarget final : public PushTarget {
 public:
  // Waits for the first report. Throws std::runtime_error with the reason if the other process could not start.
  HelperTarget(std::unique_ptr<PushReadings> readings, UniqueFd socket);

  std::string_view name() const override { return readings_->name(); }
  PushItem encode(const PageView& page, std::chrono::system_clock::time_point time) override {
    return readings_->encode(page, time);
  }
  PushOutcome deliver(std::string_view bytes, const PushWait& wait) override;
  void idle(const PushWait& wait) override;
  void stop(const PushWait& wait) override;

 private:
  PushOutcome ask(std::uint32_t what, std::string_view bytes, const PushWait& wait);
  PushOutcome ended();

  std::unique_ptr<PushReadings> readings_;
  HelperSocket socket_;
};

}  // namespace igpu::exporter
