// SPDX-License-Identifier: Apache-2.0
#include "push/helper_target.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <exception>
#include <stdexcept>

#include "platform/helper_socket.h"
#include "text/unicode.h"

namespace igpu::exporter {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kStart(60);                    // to load libraries, on a loaded machine
constexpr std::chrono::seconds kGrace(2);                     // after the time of a request, for its answer
constexpr std::chrono::milliseconds kShortestIdle(100);       // at least, so that no process keeps this one busy
constexpr std::uint64_t kLargest = std::uint64_t{64} << 20U;  // more than the queue holds

using Text = std::array<char, 1024>;

void put(std::string_view text, Text& into) {
  const std::string_view cut = text.substr(0, into.size() - 1);
  std::copy(cut.begin(), cut.end(), into.begin());
}

// From a process that may have been taken over.
std::string taken(Text& text) {
  text.back() = '\0';
  return clean_text(text.data(), text.size());
}

}  // namespace

enum class HelperTarget::Request : std::uint32_t { deliver, idle, stop };

struct HelperTarget::Head {
  std::uint32_t serial = 0;
  Request what = Request::idle;
  std::int64_t milliseconds = 0;
  std::uint64_t standing = 0, bytes = 0;  // sizes of what follows
};

struct HelperTarget::Answer {
  std::uint32_t serial = 0;
  std::uint32_t kind = 0;
  std::int64_t retry_after = -1;  // seconds; -1: none
  std::uint64_t rejected = 0;
  Text problem{}, detail{};
};

void report_no_start(int socket, std::string_view why) {
  HelperTarget::Answer answer;
  put(why, answer.problem);
  (void)::send(socket, &answer, sizeof answer, MSG_NOSIGNAL);
}

void serve_push(int socket, PushClient& client) {
  using Request = HelperTarget::Request;
  report_no_start(socket, "");
  for (HelperTarget::Head head; receive_all(socket, &head, sizeof head);) {
    if (head.standing > kLargest || head.bytes > kLargest) return;
    std::string standing(static_cast<std::size_t>(head.standing), '\0');
    std::string bytes(static_cast<std::size_t>(head.bytes), '\0');
    if (!receive_all(socket, standing.data(), standing.size()) || !receive_all(socket, bytes.data(), bytes.size()))
      return;
    const PushWait wait{Clock::now() + std::chrono::milliseconds(head.milliseconds), socket};
    PushOutcome outcome;
    try {
      client.keep(standing);
      if (head.what == Request::deliver) outcome = client.deliver(bytes, wait);
      if (head.what == Request::idle) client.idle(wait);
      if (head.what == Request::stop) client.stop(wait);
    } catch (const std::exception& error) {
      outcome = PushOutcome::refused(std::string(error.what()) + "; please report this");
    }
    HelperTarget::Answer answer;
    answer.serial = head.serial;
    answer.kind = static_cast<std::uint32_t>(outcome.kind);
    if (outcome.retry_after) answer.retry_after = outcome.retry_after->count();
    answer.rejected = outcome.rejected;
    put(outcome.problem, answer.problem);
    put(outcome.detail, answer.detail);
    if (::send(socket, &answer, sizeof answer, MSG_NOSIGNAL) != sizeof answer) return;
  }
}

HelperTarget::HelperTarget(std::unique_ptr<PushReadings> readings, UniqueFd socket)
    : readings_(std::move(readings)), socket_(std::move(socket)), answer_(std::make_unique<Answer>()) {
  const PushWait wait{Clock::now() + kStart};
  const auto ready = [&](short events) { return wait.on(socket_.get(), events) == PushWait::Ended::ready; };
  if (receive_rest(socket_.get(), *answer_, received_, ready) != Exchange::done)
    throw std::runtime_error("the process that pushes did not start; please report this");
  received_ = 0;
  if (const std::string problem = taken(answer_->problem); !problem.empty()) throw std::runtime_error(problem);
}

HelperTarget::~HelperTarget() = default;

PushOutcome HelperTarget::deliver(std::string_view bytes, const PushWait& wait) {
  return ask(Request::deliver, bytes, wait);
}

void HelperTarget::idle(const PushWait& wait) {
  const PushWait least{std::min(wait.until, Clock::now() + kShortestIdle), wait.interrupt};
  // That it has ended is said by the next delivery.
  const bool works = socket_ && ask(Request::idle, {}, wait).problem.empty();
  (void)(works ? least : wait).on(-1, 0);
}

void HelperTarget::stop(const PushWait& wait) { (void)ask(Request::stop, {}, wait); }

// After an interruption the rest of a request that was sent in part goes before the next one, and its answer is passed
// over.
PushOutcome HelperTarget::ask(Request what, std::string_view bytes, const PushWait& wait) {
  if (!socket_) return ended();
  const std::string standing = readings_->standing();
  const Head head{++serial_, what, wait.left().count(), standing.size(), bytes.size()};
  const void* const raw = &head;
  // A process that has stopped reading must not make it grow: what it has not begun to read is not sent any more.
  if (sent_ <= begun_) message_.resize(begun_);
  message_.erase(0, sent_);
  begun_ = message_.size();
  sent_ = 0;
  message_.append(static_cast<const char*>(raw), sizeof head).append(standing).append(bytes);
  PushWait::Ended how = PushWait::Ended::ready;
  const auto ready = [&](short events) {
    how = PushWait{wait.until + kGrace, wait.interrupt}.on(socket_.get(), events);
    return how == PushWait::Ended::ready;
  };
  Exchange exchange = send_rest(socket_.get(), message_, sent_, ready);
  while (exchange == Exchange::done) {
    exchange = receive_rest(socket_.get(), *answer_, received_, ready);
    if (exchange != Exchange::done) break;
    received_ = 0;
    // Each request has one answer, in their order: whatever else comes is not from a sound process.
    if (answer_->serial <= answered_ || answer_->serial > serial_) return ended();
    answered_ = answer_->serial;
    if (answered_ != serial_) continue;
    PushOutcome outcome;
    if (answer_->kind <= static_cast<std::uint32_t>(PushOutcome::Kind::refused))
      outcome.kind = static_cast<PushOutcome::Kind>(answer_->kind);
    outcome.problem = taken(answer_->problem);
    outcome.detail = taken(answer_->detail);
    if (answer_->retry_after >= 0) outcome.retry_after = std::chrono::seconds(answer_->retry_after);
    outcome.rejected = answer_->rejected;
    return outcome;
  }
  if (exchange == Exchange::ended) return ended();
  if (how == PushWait::Ended::interrupted) return PushOutcome::later("");
  return PushOutcome::later("the process that pushes does not answer; restart the exporter, and please report this");
}

PushOutcome HelperTarget::ended() {
  socket_.reset();
  return PushOutcome::later("the process that pushes to the receiver has ended: restart the exporter");
}

}  // namespace igpu::exporter
