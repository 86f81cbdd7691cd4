// SPDX-License-Identifier: Apache-2.0
#include "server/push/mqtt_target.h"

#include <poll.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "platform/own_process.h"
#include "text/text.h"

namespace igpu::exporter {
namespace {

using std::chrono::seconds;

constexpr seconds kKeepAlive{60};                   // a broker publishes the will after one and a half of it
constexpr seconds kConnectTimeout{20};              // while nothing waits to be delivered
constexpr seconds kReconnectAfter{10};              // likewise
constexpr std::chrono::milliseconds kSpread{5000};  // not all clients publish at the moment when Home Assistant starts
constexpr std::size_t kMaxBaseBytes = 256;

// Lines, first a topic and then its payload, neither of which has line breaks.
void pack(std::string& out, std::string_view topic, std::string_view payload) {
  out.append(topic).append("\n").append(payload).append("\n");
}

std::vector<mqtt::Message> unpacked(std::string_view bytes) {
  std::vector<mqtt::Message> messages;
  while (!bytes.empty()) {
    const std::string_view topic = take_until(bytes, '\n'), payload = take_until(bytes, '\n');
    messages.push_back({std::string(topic), std::string(payload), false});
  }
  return messages;
}

HomeAssistant topics_of(const MqttSettings& settings) {
  return HomeAssistant(settings.host, settings.topic_base, settings.interval, settings.page_url);
}

mqtt::Login login_of(const MqttSettings& settings, std::optional<mqtt::User> user) {
  const HomeAssistant home_assistant = topics_of(settings);
  // Another client with the same name would end this one's connection.
  std::string id = std::string(kProgramName) + '-' + home_assistant.host();
  if (settings.topic_base != kProgramName) id += '-' + settings.topic_base;
  return {.client_id = std::move(id),
          .user = std::move(user),
          .keep_alive = kKeepAlive,
          .will = {home_assistant.availability_topic(), std::string(kOffline), true}};
}

class CurlTransport final : public mqtt::Transport {
 public:
  CurlTransport(std::shared_ptr<CurlSession> session, std::unique_ptr<CurlSession::Attempt> attempt, int socket)
      : session_(std::move(session)), attempt_(std::move(attempt)), socket_(socket) {}

  void send(std::string_view bytes, const PushWait& wait) override {
    while (!bytes.empty()) {
      std::size_t sent = 0;
      const CURLcode code = session_->curl().easy_send(attempt_->handle(), bytes.data(), bytes.size(), &sent);
      // When a part of a message is sent, the connection is of no more use.
      if (code == CURLE_OK) {
        bytes.remove_prefix(sent);
        if (bytes.empty() || !wait.over()) continue;
        throw mqtt::SessionError(wait.left().count() == 0 ? "the receiver reads too slowly" : "interrupted");
      }
      if (code != CURLE_AGAIN) throw mqtt::SessionError(session_->problem_of(*attempt_, code));
      if (const PushWait::Ended ended = wait.on(socket_, POLLOUT); ended != PushWait::Ended::ready)
        throw mqtt::SessionError(ended == PushWait::Ended::late ? "the receiver does not read" : "interrupted");
    }
  }

  std::size_t receive(std::span<char> into, const PushWait& wait) override {
    while (!wait.over()) {
      std::size_t received = 0;
      // Before waiting: TLS may hold bytes that it has read already.
      const CURLcode code = session_->curl().easy_recv(attempt_->handle(), into.data(), into.size(), &received);
      if (code == CURLE_OK && received > 0) return received;
      if (code == CURLE_OK) throw mqtt::SessionError("the receiver closed the connection");
      if (code != CURLE_AGAIN) throw mqtt::SessionError(session_->problem_of(*attempt_, code));
      if (wait.on(socket_, POLLIN) != PushWait::Ended::ready) return 0;
    }
    return 0;
  }

 private:
  std::shared_ptr<CurlSession> session_;  // outlives the attempt
  std::unique_ptr<CurlSession::Attempt> attempt_;
  int socket_;
};

}  // namespace

std::string mqtt_topic_base(std::string_view path) {
  while (path.starts_with('/')) path.remove_prefix(1);
  while (path.ends_with('/')) path.remove_suffix(1);
  if (path.empty()) return std::string(kProgramName);
  if (path.size() > kMaxBaseBytes)
    throw std::invalid_argument("its topic is longer than " + std::to_string(kMaxBaseBytes) + " bytes");
  if (path.starts_with('$')) throw std::invalid_argument("topics that begin with $ belong to the broker");
  if (path.find_first_of("+#%") != path.npos) throw std::invalid_argument("its topic has a character of +, # and %");
  if (clean_text(path) != path) throw std::invalid_argument("its topic has a character that cannot be shown");
  return std::string(path);
}

PushAddress parse_mqtt_address(std::string_view url) {
  PushAddress address = parse_push_address(url, {{"mqtt", 1883, false}, {"mqtts", 8883, true}}, kMqttCredentialsFlag);
  (void)mqtt_topic_base(address.path);
  return address;
}

std::optional<mqtt::User> mqtt_user(const PushCredentials& credentials, const std::string& file) {
  if (!credentials.headers.empty()) {
    throw std::runtime_error(file + " holds HTTP headers, which MQTT does not have; write NAME:PASSWORD into it");
  }
  if (credentials.user.empty()) return std::nullopt;
  return mqtt::User{credentials.user, credentials.password};
}

MqttReadings::MqttReadings(const MqttSettings& settings) : home_assistant_(topics_of(settings)) {}

PushItem MqttReadings::encode(const PageView& page, std::chrono::system_clock::time_point time) {
  const HomeAssistant::Update update = home_assistant_.update(model_of(page), time);
  {
    const std::lock_guard lock(mutex_);
    retained_ = home_assistant_.retained();
  }
  PushItem item{"", update.values};
  for (const mqtt::Message& message : update.states) pack(item.bytes, message.topic, message.payload);
  return item;
}

std::string MqttReadings::standing() const {
  const std::lock_guard lock(mutex_);
  std::string out;
  for (const auto& [topic, payload] : retained_) pack(out, topic, payload);
  return out;
}

MqttClient::MqttClient(const MqttSettings& settings, std::optional<mqtt::User> user, Connect connect,
                       mqtt::Session::Clock clock)
    : login_(login_of(settings, std::move(user))),
      connect_(std::move(connect)),
      clock_(std::move(clock)),
      random_(std::random_device()()) {}

void MqttClient::keep(std::string_view standing) {
  retained_.clear();
  for (mqtt::Message& message : unpacked(standing))
    retained_.emplace(std::move(message.topic), std::move(message.payload));
}

PushOutcome MqttClient::deliver(std::string_view bytes, const PushWait& wait) {
  const std::optional<std::string> problem = on_connection(
      [&] { return (session_ || open(wait)) && publish_retained(wait) && session_->publish(unpacked(bytes), wait); });
  if (!problem) return PushOutcome::later("");
  return problem->empty() ? PushOutcome::delivered() : PushOutcome::later(*problem);
}

void MqttClient::idle(const PushWait& wait) {
  const TimePoint now = clock_();
  if (!session_ && now < reconnect_) {
    (void)PushWait{std::min(wait.until, reconnect_), wait.interrupt}.on(-1, 0);
    return;
  }
  // What fails here is reported by the next delivery, if it has not been mended by then.
  (void)on_connection([&] {
    const PushWait attempt{now + kConnectTimeout, wait.interrupt};
    if (!session_ && !open(attempt)) return false;
    if (publish_again_ && now >= *publish_again_) {
      publish_again_.reset();
      published_.clear();
    }
    if (!publish_retained(attempt)) return false;
    session_->idle({std::min(wait.until, publish_again_.value_or(TimePoint::max())), wait.interrupt});
    return true;
  });
  if (!session_) reconnect_ = clock_() + kReconnectAfter;
}

void MqttClient::stop(const PushWait& wait) {
  if (!session_) return;
  (void)on_connection([&] {
    session_->close(availability(kOffline), wait);
    return true;
  });
  give_up();
}

template <class Work>
std::optional<std::string> MqttClient::on_connection(const Work& work) {
  const bool was_open = session_.has_value();
  try {
    if (work()) return "";
    return std::nullopt;
  } catch (const mqtt::ProtocolError& error) {
    give_up();
    return "the broker " + std::string(error.what());
  } catch (const mqtt::SessionError& error) {
    give_up();
    return was_open ? std::string(error.what()) + " (client id " + login_.client_id + ", which no other client may use)"
                    : error.what();
  }
}

// False: interrupted, and there is no connection.
bool MqttClient::open(const PushWait& wait) {
  std::string problem;
  transport_ = connect_(wait, problem);
  if (!transport_) {
    if (problem.empty()) return false;
    throw mqtt::SessionError(problem);
  }
  session_.emplace(*transport_, login_, clock_);
  published_.clear();
  publish_again_.reset();
  const auto received = [this](const mqtt::Delivery& delivery) {
    // A retained one is older than this connection.
    if (delivery.retained || delivery.topic != kHomeAssistantStatus || delivery.payload != kOnline) return;
    publish_again_ = clock_() + std::chrono::milliseconds(random_() % kSpread.count());
  };
  const mqtt::Message online = availability(kOnline);
  if (session_->open(wait) && session_->subscribe(kHomeAssistantStatus, wait, received) && publish_retained(wait) &&
      session_->publish(std::span(&online, 1), wait)) {
    return true;
  }
  give_up();
  return false;
}

// Those that the broker does not have yet.
bool MqttClient::publish_retained(const PushWait& wait) {
  std::vector<mqtt::Message> messages;
  for (const auto& [topic, payload] : retained_) {
    const auto known = published_.find(topic);
    if (known == published_.end() || known->second != payload) messages.push_back({topic, payload, true});
  }
  if (messages.empty()) return true;
  if (!session_->publish(messages, wait)) return false;
  published_ = retained_;
  return true;
}

mqtt::Message MqttClient::availability(std::string_view payload) const {
  return {login_.will.topic, std::string(payload), true};
}

void MqttClient::give_up() {
  session_.reset();
  transport_.reset();
}

// The connection of an MQTT session over libcurl: TCP or, if the address has it, TLS, through the proxy if there is
// one.

MqttClient::Connect connect_by_curl(std::shared_ptr<CurlSession> session) {
  return
      [session = std::move(session)](const PushWait& wait, std::string& problem) -> std::unique_ptr<mqtt::Transport> {
        std::unique_ptr<CurlSession::Attempt> attempt = session->begin(wait, problem);
        if (!attempt) return nullptr;
        attempt->set(CURLOPT_CONNECT_ONLY, 1L);
        attempt->set(CURLOPT_FORBID_REUSE, 0L);  // libcurl would close the connection at once; the attempt's end does
        attempt->set(CURLOPT_HTTPPROXYTUNNEL, 1L);
        attempt->set(CURLOPT_SSL_ENABLE_ALPN, 0L);  // it would offer HTTP
        const std::optional<CURLcode> code = session->run(*attempt, wait);
        if (!code) return nullptr;
        curl_socket_t socket = CURL_SOCKET_BAD;
        if (*code == CURLE_OK) session->curl().easy_getinfo(attempt->handle(), CURLINFO_ACTIVESOCKET, &socket);
        if (socket != CURL_SOCKET_BAD) return std::make_unique<CurlTransport>(session, std::move(attempt), socket);
        problem = session->problem_of(*attempt, *code);
        return nullptr;
      };
}

}  // namespace igpu::exporter
