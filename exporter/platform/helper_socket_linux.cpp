// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "platform/helper_socket.h"

namespace igpu::exporter {
namespace {

struct HelperHead {
  std::uint32_t serial = 0, what = 0;
  std::int64_t milliseconds = 0;
  std::uint64_t first = 0, second = 0;  // sizes of what follows
};

// False: the socket is closed.
bool receive_all(int socket, void* into, std::size_t size) {
  char* at = static_cast<char*>(into);
  while (size > 0) {
    const ssize_t got = ::recv(socket, at, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

bool send_answer(int socket, const HelperAnswer& answer) {
  return ::send(socket, &answer, sizeof answer, MSG_NOSIGNAL) == sizeof answer;
}

}  // namespace

void put_text(std::string_view text, HelperAnswer::Text& into) {
  into = {};
  std::copy_n(text.begin(), std::min(text.size(), into.size() - 1), into.begin());
}

void report_start(int socket, const HelperAnswer& answer) { (void)send_answer(socket, answer); }

void serve_requests(int socket, std::uint64_t most_first, std::uint64_t most_second,
                    const std::function<std::optional<HelperAnswer>(const HelperRequest& request)>& act) {
  for (HelperHead head; receive_all(socket, &head, sizeof head);) {
    if (head.first > most_first || head.second > most_second) return;
    std::string first(static_cast<std::size_t>(head.first), '\0'), second(static_cast<std::size_t>(head.second), '\0');
    if (!receive_all(socket, first.data(), first.size()) || !receive_all(socket, second.data(), second.size())) return;
    std::optional<HelperAnswer> answer = act({head.what, head.milliseconds, first, second});
    if (!answer) return;
    answer->serial = head.serial;
    if (!send_answer(socket, *answer)) return;
  }
}

bool has_more_requests(int socket) {
  char byte = 0;
  return ::recv(socket, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT) > 0;
}

void HelperSocket::put(const HelperRequest& request) {
  if (sent_ <= begun_) message_.resize(begun_);
  message_.erase(0, sent_);
  begun_ = message_.size();
  sent_ = 0;
  const HelperHead head{++serial_, request.what, request.milliseconds, request.first.size(), request.second.size()};
  const void* const raw = &head;
  message_.reserve(begun_ + sizeof head + request.first.size() + request.second.size());
  message_.append(static_cast<const char*>(raw), sizeof head).append(request.first).append(request.second);
}

HelperSocket::Exchange HelperSocket::finish(const std::function<bool(short events)>& ready) {
  Exchange exchange = send_rest(ready);
  while (exchange == Exchange::done) {
    exchange = receive_rest(ready);
    if (exchange != Exchange::done) break;
    received_ = 0;
    // Whatever else comes is not from a sound process.
    if (answer_.serial <= answered_ || answer_.serial > serial_) return Exchange::ended;
    answered_ = answer_.serial;
    if (answered_ < serial_) continue;
    answer_.problem.back() = answer_.detail.back() = '\0';
    break;
  }
  return exchange;
}

HelperSocket::Exchange HelperSocket::send_rest(const std::function<bool(short events)>& ready) {
  while (sent_ < message_.size()) {
    const ssize_t size =
        ::send(descriptor(), message_.data() + sent_, message_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size > 0) sent_ += static_cast<std::size_t>(size);
    if (size >= 0 || errno == EINTR) continue;
    if (errno != EAGAIN) return Exchange::ended;
    if (!ready(POLLOUT)) return Exchange::given_up;
  }
  message_ = {};  // may be as large as a flight
  sent_ = begun_ = 0;
  return Exchange::done;
}

HelperSocket::Exchange HelperSocket::receive_rest(const std::function<bool(short events)>& ready) {
  char* const begin = static_cast<char*>(static_cast<void*>(&answer_));
  while (received_ < sizeof answer_) {
    const ssize_t got = ::recv(descriptor(), begin + received_, sizeof answer_ - received_, MSG_DONTWAIT);
    if (got > 0) received_ += static_cast<std::size_t>(got);
    if (got > 0 || (got < 0 && errno == EINTR)) continue;
    if (got == 0 || errno != EAGAIN) return Exchange::ended;
    if (!ready(POLLIN)) return Exchange::given_up;
  }
  return Exchange::done;
}

}  // namespace igpu::exporter
