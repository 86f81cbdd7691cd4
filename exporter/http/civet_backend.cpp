// SPDX-License-Identifier: Apache-2.0
#include "http/civet_backend.h"

#include <civetweb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "http/civet_door.h"
#include "http/query.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kKeptResponses = 4;       // pages kept warm; more only while that many requests overlap
constexpr std::size_t kLargestKept = 8U << 20;  // a freak page does not stay in memory for ever

std::string_view reason_phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Error";
  }
}

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  });
}

std::string_view view(const char* text) { return text == nullptr ? std::string_view() : std::string_view(text); }

// CivetWeb leaves the blanks behind a value to it (RFC 9112 section 5.1: they are none of it).
std::string_view value_of(const mg_header& header) {
  const std::string_view value = view(header.value);
  return value.substr(0, value.find_last_not_of(' ') + 1);
}

// Not CivetWeb's local_uri, which leaves out dots, slashes and what follows a zero byte: names of files, ours are none.
std::string path_of(std::string_view target) {
  return decoded_path(target.substr(0, target.find('?'))).value_or(std::string());
}

class CivetRequest final : public HttpRequest {
 public:
  CivetRequest(const mg_request_info& info, std::string_view client, std::stop_token gone,
               const std::function<void()>& notice_resets)
      : info_(info),
        client_(client),
        gone_(std::move(gone)),
        notice_resets_(notice_resets),
        path_(path_of(view(info.request_uri))) {}
  std::string_view method() const override { return view(info_.request_method); }
  std::string_view path() const override { return path_; }
  std::string_view query() const override { return view(info_.query_string); }
  std::string_view header(std::string_view name) const override {
    for (int i = 0; i < info_.num_headers; ++i) {
      if (same_name(view(info_.http_headers[i].name), name)) return value_of(info_.http_headers[i]);
    }
    return {};
  }
  std::string list_header(std::string_view name) const override {
    std::string joined;
    for (int i = 0; i < info_.num_headers; ++i) {
      if (!same_name(view(info_.http_headers[i].name), name)) continue;
      if (!joined.empty()) joined += ',';
      joined += value_of(info_.http_headers[i]);
    }
    return joined;
  }
  std::string_view client() const override { return client_; }
  std::stop_token gone() const override { return gone_; }
  void notice_resets() const override { notice_resets_(); }

 private:
  const mg_request_info& info_;
  const std::string_view client_;
  const std::stop_token gone_;
  const std::function<void()>& notice_resets_;
  const std::string path_;
};

void append_date(std::string& out) {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  // Not strftime's %a and %b: those follow the locale.
  constexpr std::array<const char*, 7> kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array<const char*, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  char text[40];
  const std::size_t size = std::strftime(text, sizeof text, "%d ... %Y %H:%M:%S GMT", &utc);
  std::string date(text, size);
  date.replace(3, 3, kMonths[static_cast<std::size_t>(utc.tm_mon)]);
  out += "Date: ";
  out += kDays[static_cast<std::size_t>(utc.tm_wday)];
  out += ", ";
  out += date;
  out += "\r\n";
}

void append_number(std::string& out, std::size_t number) {
  char text[24];
  const auto [end, error] = std::to_chars(text, text + sizeof text, number);
  if (error == std::errc()) out.append(text, end);
}

// CivetWeb goes on with fewer threads than it was asked for, even without the one that stops it. Throws
// std::system_error unless that many can be started, and some for the front.
void check_threads(unsigned workers) {
  const unsigned number = workers + 4;
  std::vector<std::thread> threads;
  std::mutex together;
  std::exception_ptr failure;
  {
    const std::lock_guard lock(together);
    try {
      threads.reserve(number);
      while (threads.size() < number) {
        threads.emplace_back([&together] { const std::lock_guard until_all_are_there(together); });
      }
    } catch (const std::system_error& error) {
      failure = std::make_exception_ptr(
          std::system_error(error.code(), "the HTTP server needs " + std::to_string(number) + " threads"));
    }
  }
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

// Status line and headers; what remains is the front's to say.
std::string head_of(const HttpResponse& response) {
  std::string head = "HTTP/1.1 ";
  append_number(head, static_cast<std::size_t>(response.status));
  head += ' ';
  head += reason_phrase(response.status);
  head += "\r\n";
  append_date(head);
  head += "Content-Type: ";
  head += response.content_type;
  head += "\r\nContent-Length: ";
  append_number(head, response.body.size());
  head += "\r\n";
  for (const auto& [name, value] : response.headers) {
    head += name;
    head += ": ";
    head += value;
    head += "\r\n";
  }
  head += "X-Content-Type-Options: nosniff\r\n";
  return head;
}

}  // namespace

struct CivetBackend::State {
  State(HttpHandler& request_handler, Log& log_sink) : handler(request_handler), log(log_sink) {}
  ~State() {
    if (library) mg_exit_library();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  static State& of(const mg_connection* connection) {
    return *static_cast<State*>(mg_get_user_data(mg_get_context(connection)));
  }

  std::unique_ptr<HttpResponse> take_response() {
    const std::lock_guard lock(mutex);
    if (spare.empty()) return std::make_unique<HttpResponse>();
    std::unique_ptr<HttpResponse> response = std::move(spare.back());
    spare.pop_back();
    return response;
  }

  void give_back(std::unique_ptr<HttpResponse> response) {
    if (response->body.capacity() > kLargestKept) return;
    response->clear();
    const std::lock_guard lock(mutex);
    if (spare.size() < kKeptResponses) spare.push_back(std::move(response));
  }

  struct Visit {
    Front::Ticket ticket = 0;
    std::string client;
    std::stop_token gone{};
  };

  // What came with this connection; ticket 0 if none is left: it was answered, or somebody else connected.
  Visit take_visit(const mg_connection* connection) {
    const std::lock_guard lock(mutex);
    auto visit = visits.extract(CivetDoor::number_of(connection));
    return visit.empty() ? Visit() : std::move(visit.mapped());
  }

  // The one entry for requests: C frames above us, nothing may be thrown through them.
  int serve(mg_connection* connection) noexcept {
    const auto [ticket, client, gone] = take_visit(connection);
    if (ticket == 0) return 444;  // closed without a word
    Answer answer;
    answer.close = true;
    if (gone.stop_requested()) {  // while it waited for this thread
      hand_over(ticket, std::move(answer));
      return 444;
    }
    try {
      const mg_request_info* info = mg_get_request_info(connection);
      const CivetRequest request(*info, client, gone, notice_resets);
      answer.response = take_response();
      try {
        handler.handle(request, *answer.response);
      } catch (const std::exception& error) {
        log.write(LogLevel::error, "a request failed", {{"path", request.path()}, {"error", error.what()}});
        answer.response->fail(500, "internal error");
      }
      // Before it leaves: a client that has its answer finds it counted. What nobody gets is none.
      if (!gone.stop_requested()) handler.answered(answer.response->status);
      answer.head = head_of(*answer.response);
      answer.with_body = request.method() != "HEAD";
      answer.close = false;
    } catch (...) {  // out of memory: closed without an answer
    }
    const int status = answer.response ? answer.response->status : 500;
    hand_over(ticket, std::move(answer));
    return status;
  }

  // Malformed requests that never reached the handler.
  void refuse(mg_connection* connection, int status) noexcept {
    const Front::Ticket ticket = take_visit(connection).ticket;
    if (ticket == 0) return;
    Answer answer;
    try {
      answer = refusal(status);
    } catch (...) {  // closed without an answer
    }
    answer.close = true;
    hand_over(ticket, std::move(answer));
  }

  // CivetWeb is done with the connection; if nobody answered, it found no request in it.
  void ended(const mg_connection* connection) noexcept {
    const Front::Ticket ticket = take_visit(connection).ticket;
    if (ticket == 0) return;
    Answer answer;
    try {
      answer = refusal(400);
    } catch (...) {  // closed without an answer
    }
    answer.close = true;
    hand_over(ticket, std::move(answer));
  }

  Answer refusal(int status) {
    Answer answer;
    answer.response = take_response();
    answer.response->fail(status, reason_phrase(status));
    if (status == 405) answer.response->headers.emplace_back("Allow", "GET, HEAD");
    handler.answered(status);
    answer.head = head_of(*answer.response);
    answer.close = true;
    return answer;
  }

  void hand_over(Front::Ticket ticket, Answer answer) noexcept {
    {
      const std::lock_guard lock(mutex);
      under_way.erase(ticket);
    }
    try {
      deliver(ticket, std::move(answer));
    } catch (...) {  // out of memory: the front's client waits until it is stopped
    }
  }

  void message(const char* text) noexcept {
    try {
      log.write(LogLevel::debug, "http server", {{"detail", view(text)}});
      const std::lock_guard lock(mutex);
      if (context == nullptr && first_message.empty()) first_message = view(text);
    } catch (...) {  // a message is lost
    }
  }

  HttpHandler& handler;
  Log& log;
  Deliver deliver;
  std::function<void()> notice_resets;
  CivetDoor door;
  bool library = false;
  mg_context* context = nullptr;
  std::mutex mutex;
  std::unordered_map<int, Visit> visits;  // by the number that the door gave the connection
  std::unordered_map<Front::Ticket, std::stop_source> under_way;
  std::vector<std::unique_ptr<HttpResponse>> spare;
  std::string first_message;
};

CivetBackend::CivetBackend(unsigned workers, unsigned queue, HttpHandler& handler, Log& log)
    : state_(std::make_unique<State>(handler, log)) {
  check_threads(workers);
  // TLS is not asked for: the front speaks it.
  (void)mg_init_library(MG_FEATURES_DEFAULT);
  state_->library = true;
  const std::string threads = std::to_string(workers);
  const std::string waiting = std::to_string(queue);
  const std::array<const char*, 15> settings{"listening_ports",
                                             CivetDoor::kPorts,
                                             "num_threads",
                                             threads.c_str(),
                                             "request_timeout_ms",
                                             "2000",  // a head is whole when it arrives
                                             "connection_queue",
                                             waiting.c_str(),
                                             "enable_keep_alive",
                                             "no",
                                             "decode_url",
                                             "no",  // path_of does
                                             "access_control_allow_origin",
                                             "",
                                             nullptr};

  mg_callbacks callbacks{};
  callbacks.begin_request = [](mg_connection* c) {
    mg_disable_connection_keep_alive(c);  // else it would wait for the body, which the front keeps
    return State::of(c).serve(c);
  };
  callbacks.http_error = [](mg_connection* c, int status, const char*) {
    State::of(c).refuse(c, status);
    return 0;
  };
  callbacks.connection_close = [](const mg_connection* c) { State::of(c).ended(c); };
  callbacks.log_message = [](const mg_connection* c, const char* text) {
    State::of(c).message(text);
    return 1;
  };

  std::array<char, 256> text{};
  unsigned code = 0;
  mg_init_data start{&callbacks, state_.get(), const_cast<const char**>(settings.data())};
  mg_error_data error{&code, text.data(), text.size()};
  mg_context* context = mg_start2(&start, &error);
  if (context == nullptr) {
    const std::string& detail = state_->first_message;
    throw std::runtime_error("the HTTP server did not start: " + (detail.empty() ? std::string(text.data()) : detail));
  }
  const std::lock_guard lock(state_->mutex);
  state_->context = context;
  state_->door.open(context);
}

CivetBackend::~CivetBackend() { stop(); }

void CivetBackend::deliver_to(Deliver deliver, std::function<void()> notice_resets) {
  state_->deliver = std::move(deliver);
  state_->notice_resets = std::move(notice_resets);
}

bool CivetBackend::submit(Front::Ticket ticket, std::string_view head, const std::string& client) {
  CivetDoor::Visitor visitor = state_->door.prepare();
  if (!visitor) return false;
  // Registered before CivetWeb can see it. All of the head fits into the socket's buffer: nothing waits here.
  {
    const std::lock_guard lock(state_->mutex);
    const std::stop_source gone;
    state_->visits.insert_or_assign(visitor.number, State::Visit{ticket, client, gone.get_token()});
    state_->under_way.insert_or_assign(ticket, gone);
  }
  if (::send(visitor.ours.get(), head.data(), head.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
      static_cast<ssize_t>(head.size())) {
    state_->door.enter(std::move(visitor));
    return true;
  }
  const std::lock_guard lock(state_->mutex);
  state_->visits.erase(visitor.number);
  state_->under_way.erase(ticket);
  return false;
}

void CivetBackend::cancel(Front::Ticket ticket) {
  std::stop_source gone(std::nostopstate);
  {
    const std::lock_guard lock(state_->mutex);
    const auto found = state_->under_way.find(ticket);
    if (found != state_->under_way.end()) gone = found->second;
  }
  gone.request_stop();
}

Answer CivetBackend::refusal(int status) { return state_->refusal(status); }

void CivetBackend::recycle(std::unique_ptr<HttpResponse> response) { state_->give_back(std::move(response)); }

void CivetBackend::stop() {
  if (state_->context == nullptr) return;
  CivetDoor::stop(state_->context);
  state_->context = nullptr;
}

}  // namespace igpu::exporter
