// SPDX-License-Identifier: Apache-2.0
#include <civetweb.h>
#include <civetweb_parser.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <exception>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>

#include "platform/thread.h"
#include "server/http/listener.h"
#include "server/http/message.h"
#include "text/text.h"

namespace igpu::exporter {
namespace {

constexpr Front::Ticket kEvent = 0;  // no connection has this number
constexpr std::chrono::milliseconds kResetsNoticed(100);

// "Not Found" for 404.
std::string_view status_text(int status) { return mg_get_response_code_text(nullptr, status); }

// Status line and headers, without "Connection" and the empty line, which the front adds.
std::string response_head(const HttpResponse& response) {
  std::string head;
  head.reserve(512);
  head.append("HTTP/1.1 ").append(std::to_string(response.status)).append(" ").append(status_text(response.status));
  head.append("\r\nDate: ").append(utc_text(std::time(nullptr), "%a, %d %b %Y %H:%M:%S GMT"));
  head.append("\r\nContent-Type: ").append(response.content_type).append("\r\n");
  if (!response.subscription)
    head.append("Content-Length: ").append(std::to_string(response.content().size())).append("\r\n");
  for (const auto& [name, value] : response.headers) head.append(name).append(": ").append(value).append("\r\n");
  return head.append("X-Content-Type-Options: nosniff\r\n");
}

// CivetWeb does not remove spaces after a value, which do not belong to it (RFC 9112 section 5.1).
std::string_view value_of(const mg_header& header) {
  const std::string_view value = header.value;
  return value.substr(0, value.find_last_not_of(' ') + 1);
}

bool is_named(const mg_header& header, std::string_view name) { return equal_ignoring_case(header.name, name); }

// A request head, parsed by CivetWeb.
class ParsedRequest final : public HttpRequest {
 public:
  // submitted and notice_resets must outlive the request.
  ParsedRequest(const Front::Request& submitted, const std::function<void()>& notice_resets)
      : submitted_(submitted),
        notice_resets_(notice_resets),
        head_(for_strict_parser(submitted.head)),
        error_(parse()) {}

  // 0, or the status that rejects the request: 400 (malformed), 505 (another HTTP version). Then no other member is
  // valid.
  int error() const { return error_; }

  std::string_view method() const override { return info_.request_method; }
  std::string_view path() const override { return path_; }
  std::string_view query() const override { return query_; }
  std::string_view header(std::string_view name) const override {
    const mg_header* const found = std::find_if(info_.http_headers, end_of_headers(),
                                                [name](const mg_header& header) { return is_named(header, name); });
    return found == end_of_headers() ? std::string_view() : value_of(*found);
  }
  bool has_header(std::string_view name) const override {
    return std::any_of(info_.http_headers, end_of_headers(),
                       [name](const mg_header& header) { return is_named(header, name); });
  }
  std::string list_header(std::string_view name) const override {
    std::string joined;
    for (const mg_header* header = info_.http_headers; header != end_of_headers(); ++header) {
      if (!is_named(*header, name)) continue;
      if (!joined.empty()) joined += ',';
      joined += value_of(*header);
    }
    return joined;
  }
  std::string_view client() const override { return submitted_.client; }
  Arrival arrival() const override { return submitted_.arrival; }
  std::stop_token gone() const override { return submitted_.gone; }
  void notice_resets() const override { notice_resets_(); }

 private:
  int parse() {
    if (igpu_civetweb_parse_request(head_.data(), static_cast<int>(head_.size()), &info_) <= 0) return 400;
    const std::string_view version = info_.http_version;
    if (version != "1.0" && version != "1.1") return 505;
    const std::optional<Target> target = split_target(info_.request_uri);
    if (!target) return 400;
    path_ = url_decoded(target->path);
    query_ = target->query;
    return 0;
  }
  const mg_header* end_of_headers() const { return info_.http_headers + info_.num_headers; }

  const Front::Request& submitted_;
  const std::function<void()>& notice_resets_;
  std::string head_;      // info_ points into it
  mg_request_info info_;  // the members that CivetWeb's parser fills
  std::string path_;
  std::string_view query_;
  const int error_;
};

}  // namespace

WorkerPool::WorkerPool(unsigned most_threads, Run run) : most_threads_(most_threads), run_(std::move(run)) {
  idle_.reserve(most_threads);
  threads_.reserve(most_threads);
  try {
    start_worker(true);
  } catch (const std::system_error& error) {
    throw std::system_error(error.code(), "the HTTP server cannot start a thread");
  }
}

WorkerPool::~WorkerPool() { stop(); }

void WorkerPool::submit(Job job) {
  Queue added;  // allocated before the lock is taken
  added.push_back(std::move(job));
  Worker* worker = nullptr;
  {
    const std::lock_guard lock(mutex_);
    queued_.insert_or_assign(added.front().ticket, added.begin());
    queue_.splice(queue_.end(), added);
    worker = call_idle_worker();
  }
  if (worker != nullptr) {
    worker->woken.notify_one();
  } else if (threads_.size() < most_threads_) {
    try {
      start_worker(false);
    } catch (const std::exception&) {  // no memory, or a limit on processes: the threads that run take the job
    }
  }
}

bool WorkerPool::withdraw(Ticket ticket) {
  Queue withdrawn;  // freed after the lock is released
  const std::lock_guard lock(mutex_);
  const auto found = queued_.find(ticket);
  if (found == queued_.end()) return false;
  withdrawn.splice(withdrawn.end(), queue_, found->second);
  queued_.erase(found);
  return true;
}

void WorkerPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    queued_.clear();
    queue_.clear();
    while (Worker* const worker = call_idle_worker()) worker->woken.notify_one();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void WorkerPool::start_worker(bool idle) {
  Worker& worker = workers_.emplace_back();
  if (idle) become_idle(worker);
  try {
    threads_.emplace_back([this, &worker] { work(worker); });
  } catch (...) {
    if (idle) idle_.clear();  // only the first one begins idle
    workers_.pop_back();
    throw;
  }
}

// Requires the lock, or that no other thread exists.
void WorkerPool::become_idle(Worker& worker) {
  worker.idle = true;
  idle_.push_back(&worker);
}

void WorkerPool::work(Worker& self) {
  name_thread("worker");
  const std::function<void()> free = [this, &self] {
    const std::lock_guard lock(mutex_);
    if (queue_.empty() && !stopping_) become_idle(self);
  };
  Queue taken;
  std::unique_lock lock(mutex_);
  for (;;) {
    self.woken.wait(lock, [&self] { return !self.idle; });
    if (stopping_) return;
    if (queue_.empty()) {
      become_idle(self);
      continue;
    }
    queued_.erase(queue_.front().ticket);
    taken.splice(taken.end(), queue_, queue_.begin());
    lock.unlock();
    run_(taken.front(), free);
    taken.clear();
    lock.lock();
  }
}

// Requires the lock. Null: all are busy and check the queue when they finish.
WorkerPool::Worker* WorkerPool::call_idle_worker() {
  if (idle_.empty()) return nullptr;
  Worker* const worker = idle_.back();
  idle_.pop_back();
  worker->idle = false;
  return worker;
}

Responder::Responder(unsigned workers, HttpHandler& handler, Log& log)
    : handler_(handler),
      log_(log),
      workers_(workers, [this](const Front::Request& request, const auto& free) { serve(request, free); }) {}

void Responder::deliver_to(Front& front) {
  front_ = &front;
  notice_resets_ = [&front] {  // twice: after the second iteration, everything that was ready at the call is handled
    for (int i = 0; i < 2; ++i) (void)front.responds(kResetsNoticed);
  };
}

void Responder::ask_for_event() { workers_.submit({kEvent, {}, {}, {}, {}}); }

Answer Responder::answer(const Front::Request& request) noexcept {
  Answer answer;
  answer.close = true;
  try {
    if (!request.gone.stop_requested()) answer = answer_to(request);
  } catch (...) {  // out of memory: closed without an answer
  }
  return answer;
}

void Responder::serve(const Front::Request& request, const std::function<void()>& free) noexcept {
  if (request.ticket == kEvent) {
    Event event = next_event();
    free();
    return front_->publish(std::move(event));
  }
  Answer made = answer(request);
  free();
  try {
    front_->answer(request.ticket, std::move(made));
  } catch (...) {  // out of memory: the client waits until the front stops
  }
}

Event Responder::next_event() noexcept {
  try {
    return handler_.next_event();
  } catch (const std::exception& error) {
    log_.write(LogLevel::error, "the event of the streams failed", {{"error", error.what()}});
    return {};
  }
}

Answer Responder::answer_to(const Front::Request& submitted) {
  const ParsedRequest request(submitted, notice_resets_);
  if (request.error() != 0) return refusal(request.error());
  Answer answer;
  answer.response = std::make_unique<HttpResponse>();
  try {
    handler_.handle(request, *answer.response);
  } catch (const std::exception& error) {
    log_.write(LogLevel::error, "a request failed", {{"path", request.path()}, {"error", error.what()}});
    answer.response->fail(500, "internal error");
  }
  // Counts before the answer is sent, so that a client that has its answer finds it counted. Undeliverable answers do
  // not count.
  if (!submitted.gone.stop_requested()) handler_.answered(answer.response->status);
  answer.head = response_head(*answer.response);
  answer.with_body = request.method() != "HEAD";
  return answer;
}

Answer Responder::refusal(int status) {
  Answer answer;
  answer.response = std::make_unique<HttpResponse>();
  answer.response->fail(status, status_text(status));
  if (status == 405) answer.response->headers.emplace_back("Allow", "GET, HEAD");
  handler_.answered(status);
  answer.head = response_head(*answer.response);
  answer.close = true;
  return answer;
}

}  // namespace igpu::exporter
