// SPDX-License-Identifier: Apache-2.0
#include "server/http/connection_table.h"

#include "server/http/exchanges.h"

namespace igpu::exporter {
namespace {

using std::chrono::milliseconds;
using State = Connection::State;
using Wants = Stream::Wants;

constexpr std::chrono::milliseconds kDeadlineStep(10);  // deadlines are not checked more often

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

void Places::enter(Ticket ticket, const std::string& client, Kind kind) {
  const auto [found, first] = addresses_.try_emplace(client);
  Address& address = found->second;
  if (first) address.client = client;
  std::list<Ticket>& list = address.of(kind);
  entries_.try_emplace(ticket, Entry{&address, kind, list.insert(list.end(), ticket)});
  hold(address, address.held + 1);
}

void Places::move(Ticket ticket, Kind kind) {
  const auto found = entries_.find(ticket);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  std::list<Ticket>& to = entry.address->of(kind);
  to.splice(to.end(), entry.address->of(entry.kind), entry.position);
  entry.kind = kind;
}

void Places::leave(Ticket ticket) {
  const auto found = entries_.find(ticket);
  if (found == entries_.end()) return;
  const Entry entry = found->second;
  entries_.erase(found);
  entry.address->of(entry.kind).erase(entry.position);
  hold(*entry.address, entry.address->held - 1);
}

std::optional<Places::Ticket> Places::next_to_evict() const {
  for (const Address* address : order_) {
    if (const std::optional<Ticket> ticket = address->next_to_evict()) return ticket;
  }
  return std::nullopt;
}

std::optional<Places::Ticket> Places::Address::next_to_evict() const {
  const auto oldest = [this](Kind kind) { return of(kind).front(); };
  if (!of(Kind::lingering).empty()) return oldest(Kind::lingering);
  if (2 * of(Kind::newcomer).size() > held) return oldest(Kind::newcomer);
  for (const Kind kind : {Kind::served, Kind::reader, Kind::newcomer}) {
    if (!of(kind).empty()) return oldest(kind);
  }
  return std::nullopt;
}

void Places::hold(Address& address, std::size_t held) {
  order_.erase(&address);
  if (held == 0) {
    addresses_.erase(std::string(address.client));
    return;
  }
  address.held = held;
  address.since = ++changes_;
  order_.insert(&address);
}

Connection& ConnectionTable::add(std::unique_ptr<Stream> stream, std::string&& client, SteadyTime now) {
  const Number number = next_++;
  places_.enter(number, client, Kind::newcomer);
  return connections_.try_emplace(number, number, std::move(stream), std::move(client), now).first->second;
}

Connection* ConnectionTable::find(Number number) {
  const auto found = connections_.find(number);
  return found == connections_.end() ? nullptr : &found->second;
}

void ConnectionTable::remove(const Connection& connection) {
  const Number number = connection.number;
  places_.leave(number);
  connections_.erase(number);
}

std::vector<ConnectionTable::Number> ConnectionTable::numbers() const {
  std::vector<Number> all;
  all.reserve(connections_.size());
  for (const auto& [number, connection] : connections_) all.push_back(number);
  return all;
}

Connection* ConnectionTable::next_to_evict() {
  const std::optional<Number> number = places_.next_to_evict();
  return number ? find(*number) : nullptr;
}

Connection* ConnectionTable::slowest_reader() {
  Connection* slowest = nullptr;
  for (auto& [number, connection] : connections_) {
    if (connection.state != Connection::State::writing) continue;
    if (slowest == nullptr || connection.progress < slowest->progress) slowest = &connection;
  }
  return slowest;
}

void ConnectionTable::set_deadline(Connection& connection, SteadyTime deadline) {
  connection.deadline = deadline;
  next_check_ = std::min(next_check_, deadline);
}

std::vector<ConnectionTable::Number> ConnectionTable::take_late(SteadyTime now) {
  std::vector<Number> late;
  next_check_ = SteadyTime::max();
  for (const auto& [number, connection] : connections_) {
    if (now >= connection.deadline) {
      late.push_back(number);
    } else {
      next_check_ = std::min(next_check_, connection.deadline);
    }
  }
  if (next_check_ != SteadyTime::max()) next_check_ = std::max(next_check_, now + kDeadlineStep);
  return late;
}

Acceptor::Acceptor(std::vector<UniqueSocket> listening, std::uint64_t first, LoopState& loop, Exchanges& exchanges,
                   Log& log)
    : listening_(std::move(listening)), first_(first), loop_(loop), exchanges_(exchanges), log_(log) {
  listen(true);
}

void Acceptor::listen(bool on) {
  for (std::size_t i = 0; i < listening_.size(); ++i) {
    if (on) {
      loop_.poller.add(listening_[i].get(), Poller::kRead, first_ + i);
    } else {
      loop_.poller.remove(listening_[i].get());
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
  resume_at_ = loop_.now + kAcceptPause;
}

void Acceptor::resume_if_due() {
  if (loop_.now < resume_at_) return;
  resume_at_ = SteadyTime::max();
  if (!loop_.stopping()) listen(true);
}

void Acceptor::stop() {
  for (const UniqueSocket& socket : listening_) accept_from(socket.get());
  if (accepting_) listen(false);
  listening_.clear();
}

void Acceptor::add(UniqueSocket socket, std::string client) {
  // A flood of connections that are reset at once must neither evict others nor be served. Over plain HTTP a client
  // that closed its sending half still reads its answer.
  if (loop_.tls ? has_ended(socket.get()) : is_reset(socket.get())) return;
  // Fails for sockets other than TCP; TCP sends the end of an answer at once.
  (void)set_option(socket.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  (void)set_option(socket.get(), SOL_SOCKET, SO_KEEPALIVE, 1);
  if (loop_.connections.size() >= loop_.options.connections && !evict()) return;
  std::unique_ptr<Stream> stream;
  std::uint64_t policy = 0;
  if (loop_.tls) {
    const Front::Tls tls = loop_.tls();
    policy = tls.policy;
    if (tls.context) stream = tls_stream(std::move(socket), tls.context);
  } else {
    stream = plain_stream(std::move(socket));
  }
  if (!stream) return;
  Connection& connection = loop_.connections.add(std::move(stream), std::move(client), loop_.now);
  connection.tls_policy = policy;
  connection.state = loop_.tls ? State::handshaking : State::reading;
  loop_.connections.set_deadline(
      connection,
      loop_.now + (loop_.stopping() ? std::min(kStopTimeout, loop_.options.head_timeout) : loop_.options.head_timeout));
  connection.armed = Poller::kRead;
  loop_.poller.add(connection.stream->descriptor(), Poller::kRead, connection.number);
  // Usually the first bytes have already arrived.
  if (!loop_.tls) {
    exchanges_.read(connection);
  } else if (has_bytes(connection.stream->descriptor())) {
    handshake(connection);
  }
}

// Evicts one connection. False: all are being answered.
bool Acceptor::evict() {
  Connection* const connection = loop_.connections.next_to_evict();
  if (connection == nullptr) return false;
  exchanges_.close(*connection);
  return true;
}

// Until the step is done, Handshakes owns the stream, and it is not polled.
void Acceptor::handshake(Connection& connection) {
  loop_.poller.remove(connection.stream->descriptor());
  loop_.handshakes->submit(connection.number, connection.client, std::move(connection.stream));
}

void Acceptor::take_handshakes() {
  if (!loop_.handshakes) return;
  loop_.handshakes->take_finished(steps_);
  for (Handshakes::Step& step : steps_) handshake_went_on(std::move(step));
  steps_.clear();
}

void Acceptor::handshake_went_on(Handshakes::Step step) {
  Connection* const connection = loop_.connections.find(step.ticket);
  if (connection == nullptr) return;  // evicted or timed out in the meantime
  connection->stream = std::move(step.stream);
  if (step.result.wants == Wants::to_end) {
    if (connection->stream->spoke_plain_http()) reject_plain_http(*connection->stream);
    return exchanges_.close(*connection);
  }
  connection->armed = step.result.wants == Wants::to_write ? Poller::kWrite : Poller::kRead;
  loop_.poller.add(connection->stream->descriptor(), connection->armed, connection->number);
  if (step.result.wants == Wants::nothing) {
    connection->state = State::reading;
    connection->progress = loop_.now;
    exchanges_.read(*connection);
  }
}

}  // namespace igpu::exporter
