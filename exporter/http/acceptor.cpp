// SPDX-License-Identifier: Apache-2.0
#include "http/acceptor.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

namespace igpu::exporter {
namespace {

using std::chrono::milliseconds;
using State = Connection::State;
using Wants = Stream::Wants;

constexpr milliseconds kAcceptPause(100);
constexpr int kAcceptedAtOnce = 64;

// HttpRequest::client(): a client with an IPv6 address usually has 2^64 of them.
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

// Like Go's servers: a user with the wrong scheme in the URL sees the reason.
void reject_plain_http(const Stream& stream) {
  constexpr std::string_view kText =
      "HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
      "This port speaks HTTPS.\n";
  (void)send(stream.descriptor(), kText);
}

}  // namespace

Acceptor::Acceptor(std::vector<UniqueSocket> listening, std::uint64_t first, const FrontOptions& options,
                   const Front::TlsContext& tls, const LoopTime& time, Poller& poller, ConnectionTable& connections,
                   Exchanges& exchanges, std::optional<Handshakes>& handshakes, Log& log)
    : listening_(std::move(listening)),
      first_(first),
      options_(options),
      tls_(tls),
      time_(time),
      poller_(poller),
      connections_(connections),
      exchanges_(exchanges),
      handshakes_(handshakes),
      log_(log) {
  listen(true);
}

void Acceptor::listen(bool on) {
  for (std::size_t i = 0; i < listening_.size(); ++i) {
    if (on) {
      poller_.add(listening_[i].get(), Poller::kRead, first_ + i);
    } else {
      poller_.remove(listening_[i].get());
    }
  }
  accepting_ = on;
}

void Acceptor::accept(std::uint64_t number) {
  if (number - first_ < listening_.size()) accept_from(listening_[number - first_].get());  // else: just closed
}

void Acceptor::accept_from(int listening) {
  for (int i = 0; i < kAcceptedAtOnce; ++i) {
    sockaddr_storage name{};
    UniqueSocket socket = accept_connection(listening, name);
    if (!socket) {
      const int error = last_socket_error();
      if (is_out_of_resources(error)) pause(error);
      return;  // an error of one connection (ECONNABORTED) does not affect the next
    }
    add(std::move(socket), client_of(name));
  }
}

void Acceptor::pause(int error) {
  if (evict()) return;
  if (!reported_exhaustion_) {
    log_.write(LogLevel::error, "cannot accept connections",
               {{"error", socket_error_text(error)},
                {"hint", "raise the limit of open files (LimitNOFILE= of the unit, ulimit -n)"}});
  }
  reported_exhaustion_ = true;
  listen(false);
  resume_at_ = time_.now + kAcceptPause;
}

void Acceptor::resume_if_due() {
  if (time_.now < resume_at_) return;
  resume_at_ = SteadyTime::max();
  if (!time_.stopping()) listen(true);
}

void Acceptor::stop() {
  for (const UniqueSocket& socket : listening_) accept_from(socket.get());
  if (accepting_) listen(false);
  listening_.clear();
}

void Acceptor::add(UniqueSocket socket, std::string client) {
  // A flood of connections that are reset at once must neither evict others nor be served. Over plain HTTP a client
  // that closed its sending half still reads its answer.
  if (tls_ ? has_ended(socket.get()) : is_reset(socket.get())) return;
  // Fails for sockets other than TCP; TCP sends the end of an answer at once.
  (void)set_option(socket.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  (void)set_option(socket.get(), SOL_SOCKET, SO_KEEPALIVE, 1);
  if (connections_.size() >= options_.connections && !evict()) return;
  std::unique_ptr<Stream> stream;
  std::uint64_t policy = 0;
  if (tls_) {
    const Front::Tls tls = tls_();
    policy = tls.policy;
    if (tls.context) stream = tls_stream(std::move(socket), tls.context);
  } else {
    stream = plain_stream(std::move(socket));
  }
  if (!stream) return;
  Connection& connection = connections_.add(std::move(stream), std::move(client), time_.now);
  connection.tls_policy = policy;
  connection.state = tls_ ? State::handshaking : State::reading;
  connections_.set_deadline(connection, time_.now + (time_.stopping() ? std::min(kStopTimeout, options_.head_timeout)
                                                                      : options_.head_timeout));
  connection.armed = Poller::kRead;
  poller_.add(connection.stream->descriptor(), Poller::kRead, connection.number);
  // Usually the first bytes have already arrived.
  if (!tls_) {
    exchanges_.read(connection);
  } else if (has_bytes(connection.stream->descriptor())) {
    handshake(connection);
  }
}

// Evicts one connection. False: all are being answered.
bool Acceptor::evict() {
  Connection* const connection = connections_.next_to_evict();
  if (connection == nullptr) return false;
  exchanges_.close(*connection);
  return true;
}

// Until the step is done, Handshakes owns the stream, and it is not polled.
void Acceptor::handshake(Connection& connection) {
  poller_.remove(connection.stream->descriptor());
  handshakes_->submit(connection.number, connection.client, std::move(connection.stream));
}

void Acceptor::take_handshakes() {
  if (!handshakes_) return;
  handshakes_->take_finished(steps_);
  for (Handshakes::Step& step : steps_) handshake_went_on(std::move(step));
  steps_.clear();
}

void Acceptor::handshake_went_on(Handshakes::Step step) {
  Connection* const connection = connections_.find(step.ticket);
  if (connection == nullptr) return;  // evicted or timed out in the meantime
  connection->stream = std::move(step.stream);
  if (step.result.wants == Wants::to_end) {
    if (connection->stream->spoke_plain_http()) reject_plain_http(*connection->stream);
    return exchanges_.close(*connection);
  }
  connection->armed = step.result.wants == Wants::to_write ? Poller::kWrite : Poller::kRead;
  poller_.add(connection->stream->descriptor(), connection->armed, connection->number);
  if (step.result.wants == Wants::nothing) {
    connection->state = State::reading;
    connection->progress = time_.now;
    exchanges_.read(*connection);
  }
}

}  // namespace igpu::exporter
