// SPDX-License-Identifier: Apache-2.0
#include "http/listener.h"

#include <civetweb.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <charconv>
#include <condition_variable>
#include <ctime>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "http/sockets.h"
#include "service/descriptor.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kKeptResponses = 4;       // pages kept warm; more only while that many requests overlap
constexpr std::size_t kLargestKept = 8U << 20;  // a freak page does not stay in memory for ever
constexpr std::size_t kLargestIgnoredBody = 16U
                                            << 10;  // read and thrown away, so that the answer is not lost in a reset

std::string_view reason_phrase(int status) {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 411: return "Length Required";
    case 413: return "Content Too Large";
    case 500: return "Internal Server Error";
    case 503: return "Service Unavailable";
    case 505: return "HTTP Version Not Supported";
    default: return "Error";
  }
}

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  });
}

std::string_view view(const char* text) { return text == nullptr ? std::string_view() : std::string_view(text); }

class CivetRequest final : public HttpRequest {
 public:
  explicit CivetRequest(const mg_request_info& info) : info_(info) {}
  std::string_view method() const override { return view(info_.request_method); }
  std::string_view path() const override { return view(info_.local_uri); }
  std::string_view query() const override { return view(info_.query_string); }
  std::string_view header(std::string_view name) const override {
    for (int i = 0; i < info_.num_headers; ++i) {
      if (same_name(view(info_.http_headers[i].name), name)) return view(info_.http_headers[i].value);
    }
    return {};
  }
  std::string list_header(std::string_view name) const override {
    std::string joined;
    for (int i = 0; i < info_.num_headers; ++i) {
      if (!same_name(view(info_.http_headers[i].name), name)) continue;
      if (!joined.empty()) joined += ',';
      joined += view(info_.http_headers[i].value);
    }
    return joined;
  }

 private:
  const mg_request_info& info_;
};

// A request whose method CivetWeb does not know: it looked no further than the first line.
class StrangeRequest final : public HttpRequest {
 public:
  explicit StrangeRequest(const mg_request_info& info) : info_(info) {}
  static bool is(const mg_request_info* info) {
    if (info == nullptr) return false;
    const std::string_view method = view(info->request_method);
    const std::string_view version = view(info->http_version);
    const auto letter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-'; };
    return !method.empty() && std::all_of(method.begin(), method.end(), letter) && method != "GET" &&
           method != "HEAD" && view(info->request_uri).starts_with('/') && (version == "1.0" || version == "1.1");
  }
  std::string_view method() const override { return view(info_.request_method); }
  std::string_view path() const override {
    const std::string_view target = view(info_.request_uri);
    return target.substr(0, target.find('?'));
  }
  std::string_view query() const override { return {}; }
  std::string_view header(std::string_view) const override { return {}; }
  std::string list_header(std::string_view) const override { return {}; }

 private:
  const mg_request_info& info_;
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

// Both parts in as few writes as possible; a client that went away is no error of ours.
void send(mg_connection* connection, const HttpResponse& response, bool with_body) {
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
  head += "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n";
  // Copying a page is cheaper than a second segment on the way.
  constexpr std::size_t kOneWrite = 64U << 10;
  const bool at_once = with_body && response.body.size() <= kOneWrite;
  if (at_once) head += response.body;
  if (mg_write(connection, head.data(), head.size()) <= 0) return;
  if (with_body && !at_once) (void)mg_write(connection, response.body.data(), response.body.size());
}

}  // namespace

struct Listener::State {
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

  // The one entry for requests: C frames above us, nothing may be thrown through them.
  int serve(mg_connection* connection) noexcept {
    answering.fetch_add(1);
    const int status = answer(connection);
    answering.fetch_sub(1);
    return status;
  }

  int answer(mg_connection* connection) noexcept {
    try {
      mg_disable_connection_keep_alive(
          connection);  // else it would read whatever body is announced, for as long as it takes
      const mg_request_info* info = mg_get_request_info(connection);
      std::unique_ptr<HttpResponse> response = take_response();
      const CivetRequest request(*info);
      try {
        handler.handle(request, *response);
      } catch (const std::exception& error) {
        log.write(LogLevel::error, "a request failed", {{"path", request.path()}, {"error", error.what()}});
        response->fail(500, "internal error");
      }
      read_body(connection, *info);
      const int status = response->status;
      handler.answered(status);  // before it leaves: a client that has its answer finds it counted
      send(connection, *response, request.method() != "HEAD");
      give_back(std::move(response));
      return status;
    } catch (...) {
      return 500;  // out of memory: the connection is closed without an answer
    }
  }

  // A small body is read before the answer, else closing the socket resets it and the client may lose the answer.
  void read_body(mg_connection* connection, const mg_request_info& info) {
    if (info.content_length <= 0) return;
    const auto until = std::chrono::steady_clock::now() + request_timeout;
    for (std::size_t total = 0; total < kLargestIgnoredBody; ++total) {
      // Byte by byte: a longer read would wait until it is full, however slowly that happens.
      char byte = 0;
      if (mg_read(connection, &byte, 1) <= 0 || std::chrono::steady_clock::now() > until) return;
    }
  }

  // Malformed requests that never reached us.
  int refuse(mg_connection* connection, int status) noexcept {
    try {
      HttpResponse response;
      response.fail(status, reason_phrase(status));
      const mg_request_info* info = mg_get_request_info(connection);
      if (status == 400 && StrangeRequest::is(info)) {
        response.clear();
        handler.handle(StrangeRequest(*info), response);
      }
      handler.answered(response.status);
      send(connection, response, true);
    } catch (...) {  // closed without an answer
    }
    return 0;
  }

  void message(const char* text) noexcept {
    try {
      log.write(LogLevel::debug, "http server", {{"detail", view(text)}});
      const std::lock_guard lock(mutex);
      if (context == nullptr && first_message.empty()) first_message = view(text);
    } catch (...) {  // a message is lost
    }
  }

  // Each listening socket is replaced by an eventfd under the same number, which the accepting thread goes on polling.
  // That thread sleeps in a poll that holds on to the old sockets: it looks at the new ones when a shutdown of the old
  // ones wakes it, and goes to sleep on them only if it found one readable and polls anew.
  void refuse_connections() {
    silent = Descriptor(::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
    for (const std::string& path : unix_paths) (void)::unlink(path.c_str());
    for (const int socket : sockets) silence(socket, silent.get());
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    eventfd_t ignored = 0;
    (void)::eventfd_read(silent.get(), &ignored);
  }

  // mg_stop cuts off what is still being written. Connections on which no request came get a moment to send it.
  void wait_for_answers(std::chrono::milliseconds grace) {
    constexpr std::chrono::milliseconds kMoment(250);
    std::unique_lock lock(mutex);
    if (ended.wait_for(lock, std::min(grace, kMoment), [this] { return active.load() == 0; })) return;
    ended.wait_for(lock, grace, [this] { return answering.load() == 0; });
  }

  void connection_began() { active.fetch_add(1); }
  void connection_ended() {
    active.fetch_sub(1);
    const std::lock_guard lock(mutex);
    ended.notify_all();
  }

  HttpHandler& handler;
  Log& log;
  bool library = false;
  mg_context* context = nullptr;
  std::chrono::milliseconds request_timeout{};
  Descriptor silent;
  std::vector<int> sockets;
  std::vector<std::string> bound;
  std::vector<std::string> unix_paths;
  std::atomic<int> active = 0;     // connections
  std::atomic<int> answering = 0;  // those of them that sent a request
  std::mutex mutex;
  std::condition_variable ended;
  std::vector<std::unique_ptr<HttpResponse>> spare;
  std::string first_message;
};

namespace {

// CivetWeb's spelling of an address.
std::string port_spec(const ListenAddress& address, unsigned features, Log& log) {
  const std::string port = std::to_string(address.port);
  const bool ipv6 = (features & MG_FEATURES_IPV6) != 0;
  switch (address.kind) {
    case ListenAddress::Kind::unix_socket:
      if ((features & MG_FEATURES_X_DOMAIN_SOCKET) == 0) {
        throw std::runtime_error("cannot listen on " + address.text +
                                 ": this build's CivetWeb has no UNIX sockets (built with SYSTEM_CIVETWEB=ON)");
      }
      remove_stale_unix_socket(address.path);
      return "x" + address.path;
    case ListenAddress::Kind::every:
      if (!host_has_ipv6()) return port;
      if (ipv6) return "+" + port;
      log.write(LogLevel::warn, "only IPv4 is served: this build's CivetWeb has no IPv6", {{"address", address.text}});
      return port;
    case ListenAddress::Kind::host:
    case ListenAddress::Kind::ipv6: {
      const std::string host = resolve_host(address);
      if (host.front() == '[' && !ipv6) {
        throw std::runtime_error("cannot listen on " + address.text +
                                 ": this build's CivetWeb has no IPv6 (built with SYSTEM_CIVETWEB=ON)");
      }
      return host + ":" + port;
    }
  }
  return port;
}

}  // namespace

Listener::Listener(const ListenerOptions& options, HttpHandler& handler, Log& log)
    : state_(std::make_unique<State>(handler, log)) {
  // TLS is not asked for: initialising it would cost every start a megabyte that nobody uses yet.
  (void)mg_init_library(MG_FEATURES_DEFAULT);
  state_->library = true;
  state_->request_timeout = options.request_timeout;
  const unsigned features = mg_check_feature(MG_FEATURES_ALL);

  // UNIX sockets last: CivetWeb looks for the colon of a host name beyond the end of an entry.
  std::string ports;
  for (const bool unix_sockets : {false, true}) {
    for (const ListenAddress& address : options.addresses) {
      if ((address.kind == ListenAddress::Kind::unix_socket) != unix_sockets) continue;
      if (!ports.empty()) ports += ',';
      ports += port_spec(address, features, log);
      if (unix_sockets) state_->unix_paths.push_back(address.path);
    }
  }
  const std::string workers = std::to_string(options.workers);
  const std::string timeout = std::to_string(options.request_timeout.count());
  std::array<const char*, 15> settings{"listening_ports",
                                       ports.c_str(),
                                       "num_threads",
                                       workers.c_str(),
                                       "request_timeout_ms",
                                       timeout.c_str(),
                                       "connection_queue",
                                       "200",
                                       "enable_keep_alive",
                                       "no",
                                       "access_control_allow_origin",
                                       "",
                                       "listen_backlog",
                                       "200",
                                       nullptr};

  mg_callbacks callbacks{};
  callbacks.begin_request = [](mg_connection* c) { return State::of(c).serve(c); };
  callbacks.http_error = [](mg_connection* c, int status, const char*) { return State::of(c).refuse(c, status); };
  callbacks.log_message = [](const mg_connection* c, const char* text) {
    State::of(c).message(text);
    return 1;
  };
  callbacks.init_connection = [](const mg_connection* c, void**) {
    State::of(c).connection_began();
    return 0;
  };
  callbacks.connection_closed = [](const mg_connection* c) { State::of(c).connection_ended(); };

  std::array<char, 256> text{};
  unsigned code = 0;
  mg_init_data start{&callbacks, state_.get(), settings.data()};
  mg_error_data error{&code, text.data(), text.size()};
  const std::vector<int> before = listening_descriptors();
  mg_context* context = mg_start2(&start, &error);
  if (context == nullptr) {
    for (const ListenAddress& address : options.addresses) {
      const std::string why = why_not(address);
      if (!why.empty()) throw std::runtime_error("cannot listen on " + address.text + ": " + why);
    }
    const std::string& detail = state_->first_message;
    throw std::runtime_error("the HTTP server did not start: " + (detail.empty() ? std::string(text.data()) : detail));
  }
  {
    const std::lock_guard lock(state_->mutex);
    state_->context = context;
  }
  for (const int socket : listening_descriptors()) {
    if (std::binary_search(before.begin(), before.end(), socket)) continue;
    state_->sockets.push_back(socket);
    state_->bound.push_back(local_address(socket));
  }
}

Listener::~Listener() { stop(std::chrono::milliseconds(0)); }

const std::vector<std::string>& Listener::bound() const { return state_->bound; }

void Listener::stop(std::chrono::milliseconds grace) {
  if (state_->context == nullptr) return;
  state_->refuse_connections();
  state_->wait_for_answers(grace);
  // The accepting thread sleeps up to two seconds in poll unless one of its descriptors becomes readable.
  (void)::eventfd_write(state_->silent.get(), 1);
  mg_stop(state_->context);
  state_->context = nullptr;
}

}  // namespace igpu::exporter
