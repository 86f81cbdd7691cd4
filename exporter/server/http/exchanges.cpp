// SPDX-License-Identifier: Apache-2.0
#include "server/http/exchanges.h"

#include <algorithm>

#include "server/http/listener.h"
#include "server/http/message.h"

namespace igpu::exporter {
namespace {

using std::chrono::milliseconds;
using State = Connection::State;
using Wants = Stream::Wants;

constexpr milliseconds kLinger(2000);  // time for a client to receive the end of an answer
constexpr milliseconds kNextTry(100);  // if there was no event, or none that is new
constexpr milliseconds kEarly(500);    // streams that differ by less get the same event

SteadyTime next_due(const Subscription& subscription, SteadyTime now) {
  const SteadyTime due = subscription.made + subscription.interval;
  return due > now ? due : now + subscription.interval;
}

bool begins_with_head(std::string_view bytes) {
  bytes.remove_prefix(std::min(bytes.find_first_not_of("\r\n"), bytes.size()));
  return bytes.starts_with("HEAD ");
}

// The status of a request that is rejected here; 0: accepted.
int refused_status(const RequestFraming& framing, const FrontOptions& options) {
  if (framing.head_size > options.head_size || framing.headers > options.headers) return 431;
  if (framing.target_size > options.target_size) return 414;
  if (framing.announced_body > options.body_size) return 413;
  if (framing.unknown_coding) return 501;
  if (framing.names_no_resource) return 405;
  return 0;
}

}  // namespace

void Exchanges::advance(Connection& connection, std::uint32_t events) {
  if ((events & Poller::kError) != 0 || ((events & Poller::kHangUp) != 0 && (events & Poller::kRead) == 0))
    return close(connection);
  switch (connection.state) {
    case State::handshaking: return;
    case State::reading: return read(connection);
    case State::answering:  // further input is read after the answer
      return (events & Poller::kHangUp) != 0 ? close(connection) : arm(connection, 0);
    case State::writing: return write(connection);
    case State::subscribed:  // what it sends is no request; its end is the end of the stream
    case State::lingering: return linger(connection);
  }
}

void Exchanges::read(Connection& connection) {
  for (;;) {
    if (!connection.in.empty() && take_request(connection)) return;
    if (connection.client_ended) return close(connection);
    if (connection.in.size() > loop_.options.head_size) return refuse(connection, 431);
    const Stream::Result result = connection.stream->read(scratch_);
    if (result.bytes > 0) {
      if (connection.idle()) {
        loop_.connections.set_deadline(connection, loop_.now + loop_.options.head_timeout);
        loop_.connections.move(connection, Kind::served);
      }
      connection.in.append(scratch_.data(), result.bytes);
      connection.progress = loop_.now;
    } else if (result.end) {
      if (connection.in.empty()) return close(connection);
      connection.client_ended = true;
    } else if (result.wants == Wants::to_end) {
      return close(connection);
    } else {
      return arm(connection, result.wants == Wants::to_write ? Poller::kWrite : Poller::kRead);
    }
  }
}

// True: the connection changed its state, and may be closed. False: the head is incomplete.
bool Exchanges::take_request(Connection& connection) {
  const RequestFraming framing = scan_request(connection.in);
  if (framing.state == RequestFraming::State::incomplete) return false;
  if (framing.state == RequestFraming::State::malformed) {
    refuse(connection, 400);
    return true;
  }
  ++connection.requests;
  connection.asks_for_head = begins_with_head(connection.in);
  const bool body = framing.announced_body > 0 || framing.chunked_body;
  connection.keep_alive = framing.keep_alive && !body && !loop_.stopping();
  int refused = refused_status(framing, loop_.options);
  if (refused == 0 && unanswered_ >= loop_.options.exchanges) refused = 503;
  if (refused != 0) {
    refuse(connection, refused);
  } else {
    submit(connection, framing.head_size);
  }
  return true;
}

void Exchanges::submit(Connection& connection, std::size_t head_size) {
  connection.gone = std::stop_source();
  requests_.push_back({connection.number,
                       connection.in.substr(0, head_size),
                       connection.client,
                       {loop_.now},
                       connection.gone.get_token()});
  ++unanswered_;
  connection.in.erase(0, head_size);
  connection.state = State::answering;
  connection.progress = loop_.now;
  loop_.connections.clear_deadline(connection);
  loop_.connections.move(connection, Kind::answering);
}

Front::Request Exchanges::next_request() {
  Front::Request request = std::move(requests_.front());
  requests_.pop_front();
  request.arrival.others_wait = has_requests();
  return request;
}

void Exchanges::refuse(Connection& connection, int status) {
  Answer answer = responder_.refusal(status);
  answer.close = true;
  connection.asks_for_head = begins_with_head(connection.in);
  begin_writing(connection, std::move(answer));
}

void Exchanges::answer(Ticket ticket, Answer answer) {
  --unanswered_;
  Connection* const connection = loop_.connections.find(ticket);
  if (connection != nullptr && connection->state == State::answering) begin_writing(*connection, std::move(answer));
}

void Exchanges::begin_writing(Connection& connection, Answer answer) {
  if (answer.head.empty()) return close(connection);
  const bool last = answer.close || loop_.stopping() || (loop_.tls && loop_.tls().policy != connection.tls_policy);
  connection.out = std::move(answer);
  if (connection.asks_for_head) connection.out.with_body = false;
  const bool is_stream = connection.out.response && connection.out.response->subscription.has_value();
  if (last || is_stream) connection.keep_alive = false;
  if (is_stream && !last && connection.out.with_body) {
    connection.subscription = std::move(connection.out.response->subscription);
    connection.event_due = next_due(*connection.subscription, loop_.now);
    connection.in.clear();
  }
  connection.out.head += connection.keep_alive ? "\r\n" : "Connection: close\r\n\r\n";
  send(connection);
}

void Exchanges::send(Connection& connection) {
  connection.sent = 0;
  connection.state = State::writing;
  connection.progress = connection.began = loop_.now;
  unsent_ += connection.unsent();
  loop_.connections.move(connection, Kind::reader);
  write(connection);
}

void Exchanges::write(Connection& connection) {
  const std::string_view head = connection.out.head;
  const std::string_view body = connection.body();
  while (connection.unsent() > 0) {
    const std::size_t in_head = std::min(connection.sent, head.size());
    const Stream::Result result =
        connection.stream->write(head.substr(in_head), body.substr(connection.sent - in_head));
    if (result.bytes > 0) {
      connection.sent += result.bytes;
      unsent_ -= result.bytes;
      connection.progress = loop_.now;
      loop_.connections.move(connection, Kind::reader);
    } else if (result.wants == Wants::to_end) {
      return close(connection);
    } else {
      // A client that reads slowly gets ten times as long as one that reads nothing.
      loop_.connections.set_deadline(connection, std::min(loop_.now + loop_.options.write_timeout,
                                                          connection.began + 10 * loop_.options.write_timeout));
      arm(connection, result.wants == Wants::to_read ? Poller::kRead : Poller::kWrite);
      if (unsent_ > loop_.options.unsent) {
        if (Connection* const slowest = loop_.connections.slowest_reader()) close(*slowest);
      }
      return;
    }
  }
  written(connection);
}

void Exchanges::written(Connection& connection) {
  discard_sent(connection);
  if (connection.subscription) return subscribed(connection);
  if (!connection.keep_alive) {
    connection.stream->finish();
    connection.state = State::lingering;
    loop_.connections.set_deadline(
        connection, loop_.now + (loop_.stopping() ? kStopTimeout : std::min(kLinger, loop_.options.head_timeout)));
    loop_.connections.move(connection, Kind::lingering);
    return linger(connection);
  }
  connection.state = State::reading;
  loop_.connections.set_deadline(
      connection, loop_.now + (connection.in.empty() ? loop_.options.idle_timeout : loop_.options.head_timeout));
  loop_.connections.move(connection, Kind::served);
  arm(connection, Poller::kRead);
  if (!connection.in.empty() || connection.stream->pending()) read(connection);
}

// It has received all events so far.
void Exchanges::subscribed(Connection& connection) {
  if (loop_.now >= connection.event_due) {
    const milliseconds interval = connection.subscription->interval;
    const std::int64_t lost = 1 + (loop_.now - connection.event_due) / interval;
    connection.events_lost += static_cast<std::uint64_t>(lost);
    connection.event_due += lost * interval;
  }
  connection.state = State::subscribed;
  loop_.connections.clear_deadline(connection);
  if (!asked_) event_due_ = std::min(event_due_, connection.event_due);
  linger(connection);
}

void Exchanges::ask_if_due() {
  if (loop_.now < event_due_) return;
  event_due_ = SteadyTime::max();
  if (loop_.stopping()) return;
  asked_ = true;
  responder_.ask_for_event();
}

void Exchanges::publish(const Event& event) {
  asked_ = false;
  SteadyTime due = SteadyTime::max();
  for (const ConnectionTable::Number number : loop_.connections.numbers()) {
    Connection* connection = loop_.connections.find(number);  // null: closed by the one before
    if (connection == nullptr || !connection->subscription) continue;
    const Subscription& subscription = *connection->subscription;
    // Without bytes the reading failed: that ends no stream.
    const bool outdated = event.bytes && subscription.accepted_under != event.accepted_under;
    if (outdated || subscription.place_lost.stop_requested()) {
      close(*connection);
      continue;
    }
    if (connection->state != State::subscribed) continue;
    if (event.bytes && event.made > subscription.made && connection->event_due <= loop_.now + kEarly) {
      send_event(*connection, event);
      connection = loop_.connections.find(number);
    }
    if (connection != nullptr && connection->state == State::subscribed) due = std::min(due, connection->event_due);
  }
  if (due != SteadyTime::max()) event_due_ = std::max(due, loop_.now + kNextTry);
}

void Exchanges::send_event(Connection& connection, const Event& event) {
  connection.subscription->made = event.made;
  connection.event_due = next_due(*connection.subscription, loop_.now);
  if (connection.events_lost > 0) {
    connection.out.head = event_bytes(std::to_string(std::exchange(connection.events_lost, 0)), "lost");
  }
  connection.out.response = std::make_unique<HttpResponse>();
  connection.out.response->shared_body = event.bytes;
  send(connection);
}

void Exchanges::linger(Connection& connection) {
  for (;;) {
    const Stream::Result result = connection.stream->read(scratch_);
    connection.thrown_away += result.bytes;
    if (result.bytes == 0) {
      if (result.end || result.wants == Wants::to_end) return close(connection);
      return arm(connection, Poller::kRead);
    }
    if (connection.thrown_away > loop_.options.head_size + loop_.options.body_size) return close(connection);
  }
}

void Exchanges::time_out(Connection& connection) {
  const bool half_a_request = connection.state == State::reading && !connection.in.empty();
  if (half_a_request && !loop_.stopping()) return refuse(connection, 408);
  close(connection);
}

void Exchanges::close(Connection& connection) {
  if (connection.state == State::answering) {
    // A request that was still queued no longer counts; any other counts until its answer arrives.
    if (responder_.withdraw(connection.number)) {
      --unanswered_;
    } else {
      connection.gone.request_stop();
    }
  }
  discard_sent(connection);
  if (connection.stream) {
    loop_.poller.closing(connection.stream->descriptor());
  } else {
    loop_.handshakes->cancel(connection.number);
  }
  loop_.connections.remove(connection);
}

void Exchanges::begin_stop() {
  for (const ConnectionTable::Number number : loop_.connections.numbers()) {
    Connection* const connection = loop_.connections.find(number);
    if (connection == nullptr) continue;
    connection->keep_alive = false;
    if (connection->idle() || connection->subscription) {
      close(*connection);
    } else if (connection->state != State::answering && connection->state != State::writing) {
      loop_.connections.set_deadline(*connection, std::min(connection->deadline, loop_.now + kStopTimeout));
    }
  }
}

void Exchanges::discard_sent(Connection& connection) {
  if (connection.state == State::writing) unsent_ -= connection.unsent();
  connection.out = {};
  connection.sent = 0;
}

void Exchanges::arm(Connection& connection, std::uint32_t events) {
  if (connection.armed == events) return;
  connection.armed = events;
  loop_.poller.change(connection.stream->descriptor(), events, connection.number);
}

}  // namespace igpu::exporter
