// SPDX-License-Identifier: Apache-2.0
#include "server/push/mqtt_session.h"

#include <algorithm>
#include <array>
#include <utility>

namespace igpu::exporter::mqtt {
namespace {

using std::chrono::seconds;

constexpr std::size_t kMostUnacknowledged = 16;  // brokers accept at least 20
constexpr seconds kPingAnswer{10};

std::string quoted(std::string_view text) { return '"' + std::string(text) + '"'; }

}  // namespace

Session::Session(Transport& transport, Login login, Clock clock)
    : transport_(transport), login_(std::move(login)), clock_(std::move(clock)), last_sent_(clock_()) {}

bool Session::open(const PushWait& wait) {
  append_connect(packet_, login_);
  send(wait);
  const auto answered = [&] { return login_answer_.has_value(); };
  try {
    if (!wait_for(answered, wait)) return false;
  } catch (const SessionError& ended) {
    throw SessionError(std::string(ended.what()) +
                       ", before the login was answered; is it an MQTT broker, and does this port expect mqtt:// or "
                       "mqtts://? Its log may say more");
  }
  if (*login_answer_ != 0) throw SessionError(refusal(*login_answer_));
  return true;
}

bool Session::subscribe(std::string_view filter, const PushWait& wait, Received received) {
  received_ = std::move(received);
  subscribing_ = new_id();
  append_subscribe(packet_, filter, *subscribing_);
  send(wait);
  return wait_for([&] { return !subscribing_; }, wait);
}

bool Session::publish(std::span<const Message> messages, const PushWait& wait) {
  for (const Message& message : messages) {
    if (!wait_for([&] { return unacknowledged_.size() < kMostUnacknowledged; }, wait)) return false;
    const std::uint16_t id = new_id();
    append_publish(packet_, message, id);
    unacknowledged_.insert(id);
    send(wait);
  }
  return wait_for([&] { return unacknowledged_.empty(); }, wait);
}

void Session::idle(const PushWait& wait) {
  if (clock_() >= next_ping()) {
    if (pinged_) throw SessionError("the broker no longer answers");
    append_ping(packet_);
    send({clock_() + kPingAnswer, wait.interrupt});
    pinged_ = clock_();
  }
  receive({std::min(wait.until, next_ping()), wait.interrupt});
}

void Session::close(const Message& last, const PushWait& wait) {
  if (!publish(std::span(&last, 1), wait)) return;
  append_disconnect(packet_);
  send(wait);
}

template <class Done>
bool Session::wait_for(const Done& done, const PushWait& wait) {
  while (!done()) {
    const bool received = receive(wait);
    if (clock_() < wait.until) {
      if (received) continue;
      return false;
    }
    throw SessionError("the broker did not answer in time");
  }
  return true;
}

void Session::send(const PushWait& wait) {
  transport_.send(packet_, wait);
  packet_.clear();
  last_sent_ = clock_();
}

bool Session::receive(const PushWait& wait) {
  std::array<char, 4096> bytes;
  const std::size_t received = transport_.receive(bytes, wait);
  if (received == 0) return false;
  reader_.append({bytes.data(), received});
  while (const std::optional<Packet> packet = reader_.next()) handle(*packet);
  return true;
}

void Session::handle(const Packet& packet) {
  if (const auto* const answer = std::get_if<ConnectAck>(&packet)) {
    if (login_answer_) throw ProtocolError("answered the login twice");
    login_answer_ = answer->code;
    return;
  }
  if (!login_answer_) throw ProtocolError("did not answer the login; is it an MQTT broker?");
  if (const auto* const published = std::get_if<PublishAck>(&packet)) {
    unacknowledged_.erase(published->id);
  } else if (const auto* const subscription = std::get_if<SubscribeAck>(&packet)) {
    if (subscribing_ == subscription->id) subscribing_.reset();
  } else if (const auto* const delivery = std::get_if<Delivery>(&packet)) {
    if (received_) received_(*delivery);
  } else {
    pinged_.reset();
  }
}

Session::TimePoint Session::next_ping() const {
  if (pinged_) return *pinged_ + kPingAnswer;
  return login_.keep_alive == seconds(0) ? TimePoint::max() : last_sent_ + login_.keep_alive / 2;
}

std::uint16_t Session::new_id() {
  do {
    if (++last_id_ == 0) last_id_ = 1;
  } while (unacknowledged_.contains(last_id_));
  return last_id_;
}

std::string Session::refusal(std::uint8_t code) const {
  switch (code) {
    case 1:
      return "the broker does not accept MQTT 3.1.1; enable this version in its configuration";
    case 2:
      return "the broker rejects the client id " + quoted(login_.client_id) +
             "; allow it in the broker's configuration";
    case 3:
      return "the broker is not available now; its log has the reason";
    case 4:
    case 5:
      return login_.user ? "the broker rejects the user " + quoted(login_.user->name) +
                               " or the password; correct the credentials file, or the broker's list of users"
                         : "the broker requires a user and a password; put them into the credentials file";
    default:
      return "the broker refuses the login with code " + std::to_string(code) + "; its log has the reason";
  }
}

}  // namespace igpu::exporter::mqtt
