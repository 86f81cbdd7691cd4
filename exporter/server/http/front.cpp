// SPDX-License-Identifier: Apache-2.0
#include "server/http/front.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <optional>
#include <thread>
#include <utility>

#include "server/http/exchanges.h"
#include "server/http/listener.h"

namespace igpu::exporter {
namespace {

using std::chrono::milliseconds;

// Numbers in the poller, after Poller::kWoken.
constexpr std::uint64_t kFirstListening = 1;
constexpr std::uint64_t kFirstConnection = 256;

// How long answers of the loop's own thread, and then the last of them, may delay other connections. A scrape takes a
// fraction of it.
constexpr milliseconds kMoment(2);

// The loop with its two threads, the requests of other threads to it, and its wake-up times.
class Loop final : public Front {
 public:
  Loop(std::vector<UniqueSocket> listening, const FrontOptions& options, TlsContext tls, Responder& responder, Log& log)
      : responder_(responder),
        state_{options, std::move(tls), ConnectionTable(kFirstConnection)},
        exchanges_(state_, responder),
        acceptor_(std::move(listening), kFirstListening, state_, exchanges_, log) {}

  void start() override {
    if (state_.tls) {
      state_.handshakes.emplace(state_.options.handshakes, [this] { state_.poller.wake(); });
    }
    for (std::thread& thread : threads_) thread = std::thread([this] { take_turns(); });
  }

  ~Loop() override { Loop::stop(milliseconds(0)); }

  void answer(Ticket ticket, Answer answer) override {
    bool first = false;
    {
      const std::lock_guard lock(mutex_);
      first = answers_.empty();
      answers_.emplace_back(ticket, std::move(answer));
    }
    if (first) state_.poller.wake();
  }

  void publish(Event event) override {
    {
      const std::lock_guard lock(mutex_);
      event_ = std::move(event);
    }
    state_.poller.wake();
  }

  bool responds(milliseconds at_most) override {
    std::unique_lock lock(mutex_);
    const std::uint64_t question = ++asked_;
    state_.poller.wake();
    return answered_changed_.wait_for(lock, at_most, [&] { return answered_ >= question; });
  }

  void stop(milliseconds grace) override {
    if (!threads_.front().joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      stop_grace_ = grace;
    }
    state_.poller.wake();
    for (std::thread& thread : threads_)
      if (thread.joinable()) thread.join();
  }

 private:
  void take_turns() {
    name_thread("front");
    block_broken_pipes();
    while (turns_.wait()) run();
  }

  // Returns when the other thread has the loop, or when it has ended.
  void run() {
    while (!finished()) {
      const auto events = state_.poller.wait(poll_timeout());
      state_.now = std::chrono::steady_clock::now();
      for (const Poller::Ready& ready : events) dispatch(ready);
      expire();
      if (!answer_requests()) return;
    }
    state_.connections.clear();
    state_.handshakes.reset();
    turns_.end();
  }

  // False: the other thread has the loop now.
  bool answer_requests() {
    const SteadyTime enough = state_.now + kMoment;
    while (exchanges_.has_requests()) {
      Request request = exchanges_.next_request();
      if (state_.now >= enough || state_.stopping() || !turns_.leave(kMoment)) {
        responder_.submit(std::move(request));
        continue;
      }
      Answer made = responder_.answer(request);
      if (!turns_.come_back()) {
        answer(request.ticket, std::move(made));
        return false;
      }
      state_.now = std::chrono::steady_clock::now();
      exchanges_.answer(request.ticket, std::move(made));  // the client may have sent the next one already
    }
    return true;
  }

  bool finished() const {
    return state_.stopping() && (state_.connections.size() == 0 || state_.now >= state_.give_up);
  }

  int poll_timeout() const {
    if (exchanges_.has_requests()) return 0;  // that the other thread did not come to
    const SteadyTime next =
        std::min({state_.give_up, acceptor_.resume_at(), state_.connections.next_check(), exchanges_.event_due()});
    if (next == SteadyTime::max()) return -1;
    const auto left = std::chrono::ceil<milliseconds>(next - std::chrono::steady_clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1 << 30));
  }

  void dispatch(const Poller::Ready& ready) {
    const auto [number, events] = ready;
    if (number == Poller::kWoken) return woken();
    if (number < kFirstConnection) return acceptor_.accept(number);
    Connection* const connection = state_.connections.find(number);
    if (connection == nullptr) return;
    const bool broken =
        (events & Poller::kError) != 0 || ((events & (Poller::kHangUp | Poller::kRead)) == Poller::kHangUp);
    if (connection->state == Connection::State::handshaking && !broken) return acceptor_.handshake(*connection);
    exchanges_.advance(*connection, events);
  }

  void woken() {
    std::optional<milliseconds> grace;
    std::optional<Event> event;
    {
      const std::lock_guard lock(mutex_);
      taken_.swap(answers_);
      event.swap(event_);
      if (answered_ != asked_) {
        answered_ = asked_;
        answered_changed_.notify_all();
      }
      if (stop_grace_ && !state_.stopping()) grace = *stop_grace_;
    }
    for (auto& [ticket, answer] : taken_) exchanges_.answer(ticket, std::move(answer));
    taken_.clear();
    if (event) exchanges_.publish(*event);
    acceptor_.take_handshakes();
    if (grace) begin_stop(*grace);
  }

  void begin_stop(milliseconds grace) {
    state_.give_up = state_.now + grace;
    acceptor_.stop();
    exchanges_.begin_stop();
  }

  void expire() {
    if (state_.now >= state_.connections.next_check()) {
      for (const ConnectionTable::Number number : state_.connections.take_late(state_.now)) {
        if (Connection* const connection = state_.connections.find(number)) exchanges_.time_out(*connection);
      }
    }
    acceptor_.resume_if_due();
    exchanges_.ask_if_due();
  }

  Responder& responder_;
  Turns turns_;
  std::array<std::thread, 2> threads_;

  // Of the thread that has the loop, but for the poller's wake().
  LoopState state_;
  Exchanges exchanges_;
  Acceptor acceptor_;
  std::vector<std::pair<Ticket, Answer>> taken_;

  std::mutex mutex_;
  std::vector<std::pair<Ticket, Answer>> answers_;
  std::optional<Event> event_;
  std::optional<milliseconds> stop_grace_;
  std::condition_variable answered_changed_;
  std::uint64_t asked_ = 0, answered_ = 0;
};

}  // namespace

std::unique_ptr<Front> make_front(std::vector<UniqueSocket> listening, const FrontOptions& options,
                                  Front::TlsContext tls, Responder& responder, Log& log) {
  return std::make_unique<Loop>(std::move(listening), options, std::move(tls), responder, log);
}

}  // namespace igpu::exporter
