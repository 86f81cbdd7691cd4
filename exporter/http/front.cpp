// SPDX-License-Identifier: Apache-2.0
#include "http/front.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <unordered_map>

#include "http/connection.h"
#include "http/framing.h"
#include "http/handshakes.h"
#include "http/places.h"

namespace igpu::exporter {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using State = Connection::State;
using Wants = Stream::Wants;

constexpr milliseconds kMoment(250);   // that a stop leaves to a client which has not said what it wants
constexpr milliseconds kLinger(2000);  // that a client has to take the end of an answer
constexpr milliseconds kAcceptPause(100);
constexpr milliseconds kDeadlineStep(10);  // deadlines are not checked more often
constexpr int kAcceptedAtOnce = 64;
constexpr std::size_t kReadAtOnce = 4096;
constexpr std::uint64_t kWake = 0;           // numbers in epoll: the wake-up, the listening sockets,
constexpr std::uint64_t kFirstClient = 256;  // and the connections, counted up for ever

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

// HttpRequest::client(): who has an IPv6 address mostly has 2^64 of them.
std::string client_of(const sockaddr_storage& name) {
  if (name.ss_family == AF_INET) {
    const auto& address = reinterpret_cast<const sockaddr_in&>(name).sin_addr;
    return {reinterpret_cast<const char*>(&address), sizeof address};
  }
  if (name.ss_family != AF_INET6) return {};
  const in6_addr& address = reinterpret_cast<const sockaddr_in6&>(name).sin6_addr;
  const char* bytes = reinterpret_cast<const char*>(&address);
  return IN6_IS_ADDR_V4MAPPED(&address) ? std::string(bytes + 12, 4) : std::string(bytes, 8);
}

bool begins_with_head(std::string_view bytes) {
  bytes.remove_prefix(std::min(bytes.find_first_not_of("\r\n"), bytes.size()));
  return bytes.starts_with("HEAD ");
}

bool out_of_resources(int error) { return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM; }

}  // namespace

class Front::Loop {
 public:
  Loop(std::vector<Descriptor> listening, const FrontOptions& options, TlsContext tls, Backend& backend, Log& log)
      : options_(options),
        tls_(std::move(tls)),
        backend_(backend),
        log_(log),
        listening_(std::move(listening)),
        epoll_(::epoll_create1(EPOLL_CLOEXEC)),
        wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!epoll_) fail("epoll_create1");
    if (!wake_) fail("eventfd");
    watch(EPOLL_CTL_ADD, wake_.get(), EPOLLIN | EPOLLET, kWake);  // edge-triggered: nobody has to read it
    listen(true);
  }

  void start() {
    if (tls_) {
      handshakes_.emplace(options_.handshakes, [this] { (void)::eventfd_write(wake_.get(), 1); });
    }
    thread_ = std::thread([this] { run(); });
  }

  ~Loop() { stop(milliseconds(0)); }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void answer(Ticket ticket, Answer answer) {
    bool first = false;
    {
      const std::lock_guard lock(mutex_);
      first = answers_.empty();
      answers_.emplace_back(ticket, std::move(answer));
    }
    if (first) (void)::eventfd_write(wake_.get(), 1);
  }

  bool responds(milliseconds at_most) {
    std::unique_lock lock(mutex_);
    const std::uint64_t question = ++asked_;
    (void)::eventfd_write(wake_.get(), 1);
    return came_round_.wait_for(lock, at_most, [&] { return answered_ >= question; });
  }

  void stop(milliseconds grace) {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      stop_grace_ = grace;
    }
    (void)::eventfd_write(wake_.get(), 1);
    thread_.join();
  }

 private:
  using Clients = std::unordered_map<Ticket, Connection>;

  void run() {
    ::pthread_setname_np(::pthread_self(), "front");
    sigset_t pipe;  // OpenSSL writes without MSG_NOSIGNAL
    ::sigemptyset(&pipe);
    ::sigaddset(&pipe, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    std::array<epoll_event, 64> events;
    while (!finished()) {
      const int ready = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), patience());
      now_ = Clock::now();
      for (int i = 0; i < ready; ++i) dispatch(events[static_cast<std::size_t>(i)]);
      expire();
    }
    clients_.clear();
    handshakes_.reset();
  }

  void dispatch(const epoll_event& event) {
    const std::uint64_t number = event.data.u64;
    if (number == kWake) {
      woken();
    } else if (number < kFirstClient) {
      if (number <= listening_.size()) accept_from(listening_[number - 1].get());  // else: closed a moment ago
    } else {
      const auto client = clients_.find(number);
      if (client != clients_.end()) advance(client, event.events);
    }
  }

  // ---- accepting

  void listen(bool on) {
    for (std::size_t i = 0; i < listening_.size(); ++i) {
      watch(on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, listening_[i].get(), EPOLLIN, i + 1);
    }
    accepting_ = on;
  }

  void accept_from(int listening) {
    for (int i = 0; i < kAcceptedAtOnce; ++i) {
      sockaddr_storage name{};
      socklen_t size = sizeof name;
      Descriptor socket(::accept4(listening, reinterpret_cast<sockaddr*>(&name), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!socket) {
        if (out_of_resources(errno)) no_more_descriptors();
        return;  // what is wrong with one connection (ECONNABORTED) is no matter of the next
      }
      greet(std::move(socket), client_of(name));
    }
  }

  void no_more_descriptors() {
    if (evict()) return;
    if (!told_exhausted_) {
      log_.write(LogLevel::error, "no connection can be accepted",
                 {{"error", std::generic_category().message(errno)},
                  {"hint", "raise the limit of open files (LimitNOFILE= of the unit, ulimit -n)"}});
    }
    told_exhausted_ = true;
    listen(false);
    accept_again_ = now_ + kAcceptPause;
  }

  void greet(Descriptor socket, std::string name) {
    const int on = 1;  // not all of them are TCP; those that are send an answer's end at once
    (void)::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)::setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    if (clients_.size() >= options_.connections && !evict()) return;
    std::unique_ptr<Stream> stream;
    std::uint64_t admission = 0;
    if (tls_) {
      const Tls tls = tls_();
      admission = tls.admission;
      if (tls.context) stream = tls_stream(std::move(socket), tls.context);
    } else {
      stream = plain_stream(std::move(socket));
    }
    if (!stream) return;
    const auto client = clients_.try_emplace(next_client_++, std::move(stream), now_).first;
    Connection& connection = client->second;
    connection.admission = admission;
    connection.client = std::move(name);
    connection.state = tls_ ? State::handshaking : State::reading;
    set_deadline(connection, now_ + (stopping() ? std::min(kMoment, options_.head_timeout) : options_.head_timeout));
    places_.enter(client->first, connection.client, Places::Kind::newcomer);
    connection.armed = EPOLLIN;
    watch(EPOLL_CTL_ADD, connection.stream->descriptor(), EPOLLIN, client->first);
    if (!tls_ || has_bytes(connection.stream->descriptor())) advance(client, EPOLLIN);  // mostly it is here already
  }

  // Closes one connection to make room. False: all are being answered.
  bool evict() {
    const std::optional<Ticket> ticket = places_.next_to_go();
    if (!ticket) return false;
    close(clients_.find(*ticket));
    return true;
  }

  // ---- one connection

  void advance(Clients::iterator client, std::uint32_t events) {
    Connection& connection = client->second;
    if ((events & EPOLLERR) != 0 || ((events & EPOLLHUP) != 0 && (events & EPOLLIN) == 0)) return close(client);
    switch (connection.state) {
      case State::handshaking:
        return handshake(client);
      case State::reading:
        return read(client);
      case State::answering:  // more came while it waits: later
        return (events & EPOLLHUP) != 0 ? close(client) : arm(client, 0);
      case State::writing:
        return write(client);
      case State::lingering:
        return throw_away(client);
    }
  }

  // Until its step is done the stream is not here, and epoll does not watch it.
  void handshake(Clients::iterator client) {
    Connection& connection = client->second;
    watch(EPOLL_CTL_DEL, connection.stream->descriptor(), 0, client->first);
    handshakes_->submit(client->first, connection.client, std::move(connection.stream));
  }

  void handshake_went_on(Handshakes::Step step) {
    const auto client = clients_.find(step.ticket);
    if (client == clients_.end()) return;  // evicted or too late in the meantime
    Connection& connection = client->second;
    connection.stream = std::move(step.stream);
    connection.armed = step.result.wants == Wants::to_write ? EPOLLOUT : EPOLLIN;
    switch (step.result.wants) {
      case Wants::nothing:
        connection.state = State::reading;
        connection.progress = now_;
        watch(EPOLL_CTL_ADD, connection.stream->descriptor(), connection.armed, client->first);
        return read(client);
      case Wants::to_read:
      case Wants::to_write:
        return watch(EPOLL_CTL_ADD, connection.stream->descriptor(), connection.armed, client->first);
      case Wants::to_end:
        break;
    }
    if (connection.stream->spoke_plain_http()) tell_plain_http(connection);
    close(client);
  }

  // As Go's servers do: a person with the wrong scheme in the address sees why nothing comes.
  static void tell_plain_http(const Connection& connection) {
    constexpr std::string_view kText =
        "HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
        "This port speaks HTTPS.\n";
    (void)::send(connection.stream->descriptor(), kText.data(), kText.size(), MSG_NOSIGNAL);
  }

  void read(Clients::iterator client) {
    Connection& connection = client->second;
    for (;;) {
      if (!connection.in.empty() && take_request(client)) return;
      if (connection.client_ended) return close(client);
      if (connection.in.size() > options_.head_size) return refuse(client, 431);
      const Stream::Result result = connection.stream->read(scratch_);
      if (result.bytes > 0) {
        if (connection.idle()) {
          set_deadline(connection, now_ + options_.head_timeout);
          places_.move(client->first, Places::Kind::served);
        }
        connection.in.append(scratch_.data(), result.bytes);
        connection.progress = now_;
      } else if (result.end) {
        if (connection.in.empty()) return close(client);
        connection.client_ended = true;
      } else if (result.wants == Wants::to_end) {
        return close(client);
      } else {
        return arm(client, result.wants == Wants::to_write ? EPOLLOUT : EPOLLIN);
      }
    }
  }

  // True: the connection has moved on (and may be gone).
  bool take_request(Clients::iterator client) {
    Connection& connection = client->second;
    const RequestFraming framing = scan_request(connection.in);
    switch (framing.state) {
      case RequestFraming::State::incomplete:
        return false;
      case RequestFraming::State::malformed:
        refuse(client, 400);
        return true;
      case RequestFraming::State::complete:
        break;
    }
    ++connection.requests;
    connection.asks_for_head = begins_with_head(connection.in);
    const bool body = framing.announced_body > 0 || framing.chunked_body;
    connection.keep_alive = framing.keep_alive && !body && !stopping();
    int refused = 0;
    if (framing.head_size > options_.head_size || framing.headers > options_.headers) {
      refused = 431;
    } else if (framing.target_size > options_.target_size) {
      refused = 414;
    } else if (framing.announced_body > options_.body_size) {
      refused = 413;
    } else if (framing.unknown_coding) {
      refused = 501;
    } else if (framing.names_no_resource) {
      refused = 405;
    } else if (under_way_ >= options_.exchanges) {
      refused = 503;
    }
    if (refused != 0) {
      refuse(client, refused);
      return true;
    }
    connection.gone = std::stop_source();
    backend_.submit(client->first, std::string_view(connection.in).substr(0, framing.head_size), connection.client,
                    connection.gone.get_token());
    ++under_way_;
    connection.in.erase(0, framing.head_size);
    connection.state = State::answering;
    connection.progress = now_;
    connection.deadline = SteadyTime::max();
    places_.move(client->first, Places::Kind::answering);
    return true;
  }

  void refuse(Clients::iterator client, int status) {
    Answer answer = backend_.refusal(status);
    answer.close = true;
    client->second.asks_for_head = begins_with_head(client->second.in);
    begin_writing(client, std::move(answer));
  }

  void woken() {
    std::optional<milliseconds> grace;
    {
      const std::lock_guard lock(mutex_);
      taken_.swap(answers_);
      if (answered_ != asked_) {
        answered_ = asked_;
        came_round_.notify_all();
      }
      if (stop_grace_ && !stopping()) grace = *stop_grace_;
    }
    for (auto& [ticket, answer] : taken_) {
      --under_way_;
      const auto client = clients_.find(ticket);
      if (client != clients_.end() && client->second.state == State::answering) {
        begin_writing(client, std::move(answer));
      } else if (answer.response) {
        backend_.recycle(std::move(answer.response));
      }
    }
    taken_.clear();
    if (handshakes_) {
      handshakes_->take(steps_);
      for (Handshakes::Step& step : steps_) handshake_went_on(std::move(step));
      steps_.clear();
    }
    if (grace) begin_stop(*grace);
  }

  void begin_writing(Clients::iterator client, Answer answer) {
    if (answer.head.empty()) return close(client);
    Connection& connection = client->second;
    if (answer.close || stopping() || (tls_ && tls_().admission != connection.admission)) {
      connection.keep_alive = false;
    }
    connection.out = std::move(answer);
    if (connection.asks_for_head) connection.out.with_body = false;
    connection.out.head += connection.keep_alive ? "\r\n" : "Connection: close\r\n\r\n";
    connection.sent = 0;
    connection.state = State::writing;
    connection.progress = connection.began = now_;
    unsent_ += connection.unsent();
    places_.move(client->first, Places::Kind::reader);
    write(client);
  }

  void write(Clients::iterator client) {
    Connection& connection = client->second;
    const std::string_view head = connection.out.head;
    const std::string_view body = connection.body();
    while (connection.unsent() > 0) {
      const std::size_t in_head = std::min(connection.sent, head.size());
      const Stream::Result result =
          connection.stream->write(head.substr(in_head), body.substr(connection.sent - in_head));
      if (result.bytes > 0) {
        connection.sent += result.bytes;
        unsent_ -= result.bytes;
        connection.progress = now_;
        places_.move(client->first, Places::Kind::reader);
      } else if (result.wants == Wants::to_end) {
        return close(client);
      } else {
        // Whoever takes a byte now and then has ten times as long as one that takes nothing.
        set_deadline(connection,
                     std::min(now_ + options_.write_timeout, connection.began + 10 * options_.write_timeout));
        arm(client, result.wants == Wants::to_read ? EPOLLIN : EPOLLOUT);
        if (unsent_ > options_.unsent) drop_slowest_reader();
        return;
      }
    }
    written(client);
  }

  void written(Clients::iterator client) {
    Connection& connection = client->second;
    give_back(connection);
    if (!connection.keep_alive) {
      connection.stream->finish();
      connection.state = State::lingering;
      set_deadline(connection, now_ + (stopping() ? kMoment : std::min(kLinger, options_.head_timeout)));
      places_.move(client->first, Places::Kind::lingering);
      return throw_away(client);
    }
    connection.state = State::reading;
    set_deadline(connection, now_ + (connection.in.empty() ? options_.idle_timeout : options_.head_timeout));
    places_.move(client->first, Places::Kind::served);
    arm(client, EPOLLIN);
    if (!connection.in.empty() || connection.stream->pending()) read(client);
  }

  void throw_away(Clients::iterator client) {
    Connection& connection = client->second;
    for (;;) {
      const Stream::Result result = connection.stream->read(scratch_);
      connection.thrown_away += result.bytes;
      if (result.bytes == 0) {
        if (result.end || result.wants == Wants::to_end) return close(client);
        return arm(client, EPOLLIN);
      }
      if (connection.thrown_away > options_.head_size + options_.body_size) return close(client);
    }
  }

  void drop_slowest_reader() {
    auto slowest = clients_.end();
    for (auto client = clients_.begin(); client != clients_.end(); ++client) {
      if (client->second.state != State::writing) continue;
      if (slowest == clients_.end() || client->second.progress < slowest->second.progress) slowest = client;
    }
    if (slowest != clients_.end()) close(slowest);
  }

  void give_back(Connection& connection) {
    if (connection.state == State::writing) unsent_ -= connection.unsent();
    if (connection.out.response) backend_.recycle(std::move(connection.out.response));
    connection.out = {};
    connection.sent = 0;
  }

  // A request that is still queued counts no more; one that is being answered does until its answer comes.
  void abandon(Ticket ticket, Connection& connection) {
    if (backend_.withdraw(ticket)) {
      --under_way_;
    } else {
      connection.gone.request_stop();
    }
  }

  void close(Clients::iterator client) {
    if (client->second.state == State::answering) abandon(client->first, client->second);
    give_back(client->second);
    if (!client->second.stream) handshakes_->cancel(client->first);
    places_.leave(client->first);
    clients_.erase(client);
  }

  // ---- time

  bool stopping() const { return give_up_ != SteadyTime::max(); }
  bool finished() const { return stopping() && (clients_.empty() || now_ >= give_up_); }

  int patience() const {
    const SteadyTime next = std::min({give_up_, accept_again_, soonest_});
    if (next == SteadyTime::max()) return -1;
    const auto left = std::chrono::ceil<milliseconds>(next - Clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1 << 30));
  }

  void set_deadline(Connection& connection, SteadyTime deadline) {
    connection.deadline = deadline;
    soonest_ = std::min(soonest_, deadline);
  }

  void expire() {
    if (now_ >= soonest_) expire_connections();
    if (now_ >= accept_again_) {
      accept_again_ = SteadyTime::max();
      if (!stopping()) listen(true);
    }
  }

  void expire_connections() {
    late_.clear();
    soonest_ = SteadyTime::max();
    for (const auto& [number, connection] : clients_) {
      if (now_ >= connection.deadline) {
        late_.push_back(number);
      } else {
        soonest_ = std::min(soonest_, connection.deadline);
      }
    }
    if (soonest_ != SteadyTime::max()) soonest_ = std::max(soonest_, now_ + kDeadlineStep);
    for (const Ticket number : late_) {
      const auto client = clients_.find(number);
      if (client == clients_.end()) continue;  // evicted a moment ago
      const bool half_a_request = client->second.state == State::reading && !client->second.in.empty();
      if (half_a_request && !stopping()) {
        refuse(client, 408);
      } else {
        close(client);
      }
    }
  }

  // Connections that wait in the queue of a listening socket would be reset: they are taken first.
  void begin_stop(milliseconds grace) {
    give_up_ = now_ + grace;
    for (const Descriptor& socket : listening_) accept_from(socket.get());
    if (accepting_) listen(false);
    listening_.clear();
    for (auto client = clients_.begin(); client != clients_.end();) {
      const auto current = client++;
      Connection& connection = current->second;
      connection.keep_alive = false;
      if (connection.idle()) {
        close(current);
      } else if (connection.state != State::answering && connection.state != State::writing) {
        set_deadline(connection, std::min(connection.deadline, now_ + kMoment));
      }
    }
  }

  void arm(Clients::iterator client, std::uint32_t events) {
    Connection& connection = client->second;
    if (connection.armed == events) return;
    connection.armed = events;
    watch(EPOLL_CTL_MOD, connection.stream->descriptor(), events, client->first);
  }

  void watch(int operation, int descriptor, std::uint32_t events, std::uint64_t number) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = number;
    (void)::epoll_ctl(epoll_.get(), operation, descriptor, &event);
  }

  const FrontOptions options_;
  const TlsContext tls_;
  Backend& backend_;
  Log& log_;
  std::vector<Descriptor> listening_;
  Descriptor epoll_;
  Descriptor wake_;
  std::thread thread_;

  // The loop's own.
  Clients clients_;
  Places places_;
  std::uint64_t next_client_ = kFirstClient;
  SteadyTime now_ = Clock::now();
  SteadyTime give_up_ = SteadyTime::max();
  SteadyTime accept_again_ = SteadyTime::max();
  SteadyTime soonest_ = SteadyTime::max();  // when deadlines are checked next
  std::size_t under_way_ = 0;
  std::size_t unsent_ = 0;
  bool accepting_ = false;
  bool told_exhausted_ = false;
  std::vector<std::pair<Ticket, Answer>> taken_;
  std::vector<Ticket> late_;
  std::array<char, kReadAtOnce> scratch_{};
  std::vector<Handshakes::Step> steps_;

  std::mutex mutex_;
  std::vector<std::pair<Ticket, Answer>> answers_;
  std::optional<milliseconds> stop_grace_;
  std::condition_variable came_round_;
  std::uint64_t asked_ = 0, answered_ = 0;
  std::optional<Handshakes> handshakes_;  // with TLS only; last: its threads wake the loop
};

Front::Front(std::vector<Descriptor> listening, const FrontOptions& options, TlsContext tls, Backend& backend, Log& log)
    : loop_(std::make_unique<Loop>(std::move(listening), options, std::move(tls), backend, log)) {}

Front::~Front() = default;

void Front::start() { loop_->start(); }

void Front::answer(Ticket ticket, Answer answer) { loop_->answer(ticket, std::move(answer)); }

bool Front::responds(std::chrono::milliseconds at_most) { return loop_->responds(at_most); }

void Front::stop(std::chrono::milliseconds grace) { loop_->stop(grace); }

}  // namespace igpu::exporter
