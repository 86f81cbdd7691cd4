// SPDX-License-Identifier: Apache-2.0
#include "server/push/push_target.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <stdexcept>
#include <system_error>

#include "text/text.h"

namespace igpu::exporter {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kStart(60);                    // to load libraries, on a loaded machine
constexpr std::chrono::seconds kGrace(2);                     // after the time of a request, for its answer
constexpr std::chrono::milliseconds kShortestIdle(100);       // at least, so that no process keeps this one busy
constexpr std::uint64_t kLargest = std::uint64_t{64} << 20U;  // more than the queue holds

enum Request : std::uint32_t { kToDeliver, kToIdle, kToStop };

// From a process that may have been taken over.
std::string taken(const HelperAnswer::Text& text) { return clean_text(text.data(), text.size()); }

HelperAnswer answer_of(const PushOutcome& outcome) {
  HelperAnswer answer;
  answer.code = static_cast<std::uint32_t>(outcome.kind);
  if (outcome.retry_after) answer.retry_after = outcome.retry_after->count();
  answer.rejected = outcome.rejected;
  put_text(outcome.problem, answer.problem);
  put_text(outcome.detail, answer.detail);
  return answer;
}

}  // namespace

PushWait::Ended PushWait::on(int fd, short events) const {
  for (;;) {
    std::array<pollfd, 2> watched{{{interrupt, POLLIN, 0}, {fd, events, 0}}};  // poll() skips negative descriptors
    const auto wait = std::min<std::chrono::milliseconds>(left(), std::chrono::hours(1));
    const int ready = ::poll(watched.data(), watched.size(), static_cast<int>(wait.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (watched[0].revents != 0) return Ended::interrupted;
    if (ready != 0) return Ended::ready;
    if (left().count() == 0) return Ended::late;
  }
}

bool PushWait::over() const {
  pollfd watched{interrupt, POLLIN, 0};
  return left().count() == 0 || ::poll(&watched, 1, 0) > 0;
}

WakeUp::WakeUp() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!fd_) throw std::system_error(errno, std::generic_category(), "eventfd");
}

void WakeUp::raise() {
  const std::uint64_t one = 1;
  (void)!::write(fd_.get(), &one, sizeof one);
}

void WakeUp::clear() {
  std::uint64_t count = 0;
  (void)!::read(fd_.get(), &count, sizeof count);
}

bool WakeUp::raised() const {
  pollfd watched{fd_.get(), POLLIN, 0};
  return ::poll(&watched, 1, 0) > 0;
}

void report_no_start(int socket, std::string_view why) {
  report_start(socket, answer_of(PushOutcome::refused(std::string(why))));
}

void serve_push(int socket, PushClient& client) {
  report_start(socket, {});
  serve_requests(socket, kLargest, kLargest, [&](const HelperRequest& request) {
    const PushWait wait{Clock::now() + std::chrono::milliseconds(request.milliseconds), socket};
    try {
      client.keep(request.first);
      if (request.what == kToDeliver) return answer_of(client.deliver(request.second, wait));
      if (request.what == kToIdle) client.idle(wait);
      if (request.what == kToStop) client.stop(wait);
      return HelperAnswer();
    } catch (const std::exception& error) {
      return answer_of(PushOutcome::refused(std::string(error.what()) + "; please report this"));
    }
  });
}

HelperTarget::HelperTarget(std::unique_ptr<PushReadings> readings, UniqueFd socket)
    : readings_(std::move(readings)), socket_(std::move(socket)) {
  const PushWait wait{Clock::now() + kStart};
  const auto ready = [&](short events) { return wait.on(socket_.descriptor(), events) == PushWait::Ended::ready; };
  if (socket_.finish(ready) != HelperSocket::Exchange::done)
    throw std::runtime_error("the process that pushes did not start; please report this");
  if (const std::string problem = taken(socket_.answer().problem); !problem.empty()) throw std::runtime_error(problem);
}

PushOutcome HelperTarget::deliver(std::string_view bytes, const PushWait& wait) { return ask(kToDeliver, bytes, wait); }

void HelperTarget::idle(const PushWait& wait) {
  const PushWait least{std::min(wait.until, Clock::now() + kShortestIdle), wait.interrupt};
  // That it has ended is said by the next delivery.
  const bool works = socket_ && ask(kToIdle, {}, wait).problem.empty();
  (void)(works ? least : wait).on(-1, 0);
}

void HelperTarget::stop(const PushWait& wait) { (void)ask(kToStop, {}, wait); }

PushOutcome HelperTarget::ask(std::uint32_t what, std::string_view bytes, const PushWait& wait) {
  if (!socket_) return ended();
  socket_.put({what, wait.left().count(), readings_->standing(), bytes});
  PushWait::Ended how = PushWait::Ended::ready;
  const HelperSocket::Exchange exchange = socket_.finish([&](short events) {
    how = PushWait{wait.until + kGrace, wait.interrupt}.on(socket_.descriptor(), events);
    return how == PushWait::Ended::ready;
  });
  if (exchange == HelperSocket::Exchange::done) {
    const HelperAnswer& answer = socket_.answer();
    PushOutcome outcome;
    if (answer.code <= static_cast<std::uint32_t>(PushOutcome::Kind::refused))
      outcome.kind = static_cast<PushOutcome::Kind>(answer.code);
    outcome.problem = taken(answer.problem);
    outcome.detail = taken(answer.detail);
    if (answer.retry_after >= 0) outcome.retry_after = std::chrono::seconds(answer.retry_after);
    outcome.rejected = answer.rejected;
    return outcome;
  }
  if (exchange == HelperSocket::Exchange::ended) return ended();
  if (how == PushWait::Ended::interrupted) return PushOutcome::later("");
  return PushOutcome::later("the process that pushes does not answer; restart the exporter, and please report this");
}

PushOutcome HelperTarget::ended() {
  socket_.close();
  return PushOutcome::later("the process that pushes to the receiver has ended: restart the exporter");
}

}  // namespace igpu::exporter
