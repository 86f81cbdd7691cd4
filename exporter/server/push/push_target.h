// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "igpu/page.h"
#include "igpu/unique_fd.h"
#include "platform/helper_socket.h"

namespace igpu::exporter {

// Limits of a call that waits for the network. The call polls `interrupt` together with its own descriptors.
struct PushWait {
  std::chrono::steady_clock::time_point until;
  int interrupt = -1;  // readable: return at once

  std::chrono::milliseconds left() const {
    const auto rest = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    return rest.count() > 0 ? rest : std::chrono::milliseconds(0);
  }
  // Waits until `fd` has one of `events` (poll(2)), until `until`, or until the interruption. fd -1: waits for no
  // descriptor.
  enum class Ended { ready, late, interrupted };
  Ended on(int fd, short events) const;
  // Whether the wait has ended, for loops that may never block because the peer is always ready.
  bool over() const;
};

// A descriptor (eventfd(2)) that is readable from raise() on until clear(). Any thread.
class WakeUp {
 public:
  WakeUp();  // throws std::system_error
  int descriptor() const { return fd_.get(); }
  void raise();
  void clear();
  bool raised() const;

 private:
  UniqueFd fd_;
};

// One reading in the form that a target delivers.
struct PushItem {
  std::string bytes;
  std::uint64_t samples = 0;
};

struct PushOutcome {
  enum class Kind {
    delivered,
    later,    // not received; another attempt may succeed
    refused,  // another attempt would fail as well; the item is dropped
  };
  Kind kind = Kind::delivered;
  // One line with the fix; "" if all went well. It is logged when it changes. Text that may differ between attempts,
  // such as the receiver's own words, belongs in `detail`.
  std::string problem;
  std::string detail{};
  // For `later`: the delay that the receiver requested. The pusher limits it.
  std::optional<std::chrono::seconds> retry_after{};
  std::uint64_t rejected = 0;  // samples of a delivered item that the receiver rejected

  static PushOutcome delivered() { return {}; }
  static PushOutcome later(std::string why, std::string words = {}) {
    return {Kind::later, std::move(why), std::move(words)};
  }
  static PushOutcome refused(std::string why, std::string words = {}) {
    return {Kind::refused, std::move(why), std::move(words)};
  }
};

// The half of a target that makes items from readings. encode() and standing() are called by different threads.
class PushReadings {
 public:
  virtual ~PushReadings() = default;
  virtual std::string_view name() const = 0;  // value of the label target: "otlp"
  // time: of the reading, by the clock of this machine, which may be set back. Without samples, nothing is queued.
  virtual PushItem encode(const PageView& page, std::chrono::system_clock::time_point time) = 0;
  // What the receiver must know at this time, besides items.
  virtual std::string standing() const { return {}; }
};

// The half that talks to the receiver. Its functions are called by one thread; for real receivers, by a process of its
// own (HelperTarget). Constructed before that process gives up its rights: libraries are loaded and files are read
// then.
class PushClient {
 public:
  virtual ~PushClient() = default;

  // Replaces what is standing. Does not wait.
  virtual void keep(std::string_view /*standing*/) {}

  // One attempt to deliver the oldest item. Exceptions count as refused.
  virtual PushOutcome deliver(std::string_view bytes, const PushWait& wait) = 0;

  // Called while there is nothing to deliver, for keep-alives of an open connection. Returns when wait ends, or
  // earlier; it is then called again. wait.interrupt becomes readable when there is an item.
  virtual void idle(const PushWait& wait) { (void)wait.on(-1, 0); }

  // The last call: disconnects from the receiver if the protocol has a message for that.
  virtual void stop(const PushWait&) {}
};

class PushTarget : public PushReadings, public PushClient {};

// The exporter parses nothing that a receiver sends, and holds no token: a separate process for each receiver does and
// has nothing else. It gets items over a stream socket, and answers with outcomes (docs/sandbox.md).

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
