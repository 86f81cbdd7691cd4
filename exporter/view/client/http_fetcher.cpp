// SPDX-License-Identifier: Apache-2.0
#include "view/client/http_fetcher.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "platform/own_process.h"
#include "text/text.h"
#include "view/client/curl_library.h"
#include "view/client/transfer_problem.h"

namespace igpu::exporter {
namespace {

constexpr std::string_view kDefaultPort = ":10068";

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  throw std::invalid_argument("\"" + std::string(text) + "\" " + why);
}

bool has_port(std::string_view authority) {
  const std::size_t bracket = authority.rfind(']');
  return authority.find(':', bracket == std::string_view::npos ? 0 : bracket) != std::string_view::npos;
}

bool is_port(std::string_view text) { return text.size() <= 5 && number_of<std::uint16_t>(text).value_or(0) > 0; }

void check_authority(std::string_view text, std::string_view authority) {
  if (authority.starts_with('[') && authority.find(']') == std::string_view::npos) refuse(text, "lacks a ]");
  const std::size_t bracket = authority.rfind(']');
  const std::size_t colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (authority.substr(0, colon).empty()) refuse(text, "names no host");
  if (colon == std::string_view::npos) return;
  const std::string_view port = authority.substr(colon + 1);
  if (port.find(':') != std::string_view::npos) refuse(text, "is an IPv6 address without [ ]");
  if (!is_port(port)) refuse(text, "has no valid port");
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto byte =
        text.front() == '%' && text.size() > 2 ? number_of<unsigned char>(text.substr(1, 2), 16) : std::nullopt;
    out += byte ? static_cast<char>(*byte) : text.front();
    text.remove_prefix(byte ? 3 : 1);
  }
  return out;
}

constexpr std::size_t kMaxHeaderBytes = std::size_t{1} << 20U;
constexpr std::size_t kMaxProblemBytes = 300;

std::string seconds_text(std::chrono::nanoseconds duration) {
  return formatted("%g s", std::chrono::duration<double>(duration).count());
}

std::string status_problem(long status) {
  const std::string code = " (HTTP " + std::to_string(status) + ")";
  if (status == 401) return "rejects the user name or password, or requires one: --user NAME:PASSWORD" + code;
  if (status == 403) return "denies access" + code;
  if (status == 404) return "has no such page" + code;
  if (status == 503) return "is too busy to answer" + code;
  if (status >= 300 && status < 400) return "redirects to another page; give that page's URL" + code;
  return "answers with an error" + code;
}

}  // namespace

ScrapeTarget parse_target(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) <= ' ' || c == 0x7f || c == '\\' || c == '"')
      refuse("URL", "holds a character that no URL has");
  }
  ScrapeTarget target;
  std::string_view rest = text;
  const std::size_t slashes = text.find("://");
  std::string scheme = "http";
  if (slashes != std::string_view::npos) {
    scheme = std::string(text.substr(0, slashes));
    std::transform(scheme.begin(), scheme.end(), scheme.begin(), to_lower);
    if (scheme != "http" && scheme != "https") refuse(text, "is neither http nor https");
    rest.remove_prefix(slashes + 3);
  }
  std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  std::string_view path = rest.substr(authority.size());
  path = path.substr(0, path.find('#'));
  const std::size_t at = authority.rfind('@');
  if (at != std::string_view::npos) {
    target.credentials = percent_decoded(authority.substr(0, at));
    authority.remove_prefix(at + 1);
  }
  // Errors do not repeat the password.
  check_authority(at == std::string_view::npos ? text : authority, authority);
  target.name = std::string(authority);
  if (slashes == std::string_view::npos && !has_port(authority)) target.name += kDefaultPort;
  target.url = scheme + "://" + target.name;
  if (path.empty() || path == "/") {
    target.url += "/metrics";
  } else {
    if (path.front() == '?') target.url += "/metrics";
    target.url += path;
  }
  return target;
}

struct HttpFetcher::State {
  struct Transfer {
    CURL* easy = nullptr;
    std::size_t index = 0;
    std::size_t max_bytes = 0, header_bytes = 0;
    bool too_large = false;
    bool under_way = false;
    std::string body;
    std::array<char, CURL_ERROR_SIZE> error{};
  };

  CurlLibrary curl{"reading another exporter"};
  CURLM* multi = nullptr;
  ClientOptions options;
  std::vector<ScrapeTarget> targets;
  std::vector<std::unique_ptr<Transfer>> transfers;

  ~State() {
    for (const auto& transfer : transfers) {
      if (transfer->under_way) curl.multi_remove_handle(multi, transfer->easy);
      curl.easy_cleanup(transfer->easy);
    }
    if (multi != nullptr) curl.multi_cleanup(multi);
  }

  template <class T>
  void set(Transfer& transfer, CURLoption option, T value) {
    const CURLcode code = curl.easy_setopt(transfer.easy, option, value);
    if (code != CURLE_OK) throw std::runtime_error(std::string("libcurl: ") + curl.easy_strerror(code));
  }
  void set_text(Transfer& transfer, CURLoption option, const std::string& value) {
    if (!value.empty()) set(transfer, option, value.c_str());
  }

  static std::size_t write_body(char* data, std::size_t, std::size_t size, void* of) {
    auto& transfer = *static_cast<Transfer*>(of);
    if (size > transfer.max_bytes - transfer.body.size()) {
      transfer.too_large = true;
      return 0;  // ends the request
    }
    transfer.body.append(data, size);
    return size;
  }
  static std::size_t count_header(char*, std::size_t unit, std::size_t count, void* of) {
    auto& transfer = *static_cast<Transfer*>(of);
    transfer.header_bytes += unit * count;
    if (transfer.header_bytes <= kMaxHeaderBytes) return unit * count;
    transfer.too_large = true;
    return 0;
  }

  void prepare(Transfer& transfer, const ScrapeTarget& target) {
    transfer.easy = curl.easy_init();
    if (transfer.easy == nullptr) throw std::runtime_error("libcurl: out of memory");
    const long max_time = static_cast<long>(std::chrono::ceil<std::chrono::milliseconds>(options.max_time).count());
    set(transfer, CURLOPT_URL, target.url.c_str());
    set(transfer, CURLOPT_PROTOCOLS_STR, "http,https");
    set(transfer, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    set(transfer, CURLOPT_HTTPGET, 1L);
    set(transfer, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    set(transfer, CURLOPT_PROXY_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    set(transfer, CURLOPT_FOLLOWLOCATION, 0L);
    set(transfer, CURLOPT_NOSIGNAL, 1L);
    (void)curl.easy_setopt(transfer.easy, CURLOPT_QUICK_EXIT,
                           1L);  // since 7.87: a hung resolver does not delay the end
    set(transfer, CURLOPT_TIMEOUT_MS, max_time);
    set(transfer, CURLOPT_CONNECTTIMEOUT_MS, max_time);
    set(transfer, CURLOPT_ACCEPT_ENCODING, "gzip");
    const std::string agent = std::string(kProgramName) + " top";
    set(transfer, CURLOPT_USERAGENT, agent.c_str());
    set(transfer, CURLOPT_ERRORBUFFER, transfer.error.data());
    set(transfer, CURLOPT_WRITEFUNCTION, &State::write_body);
    set(transfer, CURLOPT_WRITEDATA, &transfer);
    set(transfer, CURLOPT_HEADERFUNCTION, &State::count_header);
    set(transfer, CURLOPT_HEADERDATA, &transfer);
    set(transfer, CURLOPT_PRIVATE, &transfer);
    set_text(transfer, CURLOPT_CAINFO, options.cacert);
    set_text(transfer, CURLOPT_SSLCERT, options.cert);
    set_text(transfer, CURLOPT_SSLKEY, options.key);
    set(transfer, CURLOPT_SSL_VERIFYPEER, options.insecure ? 0L : 1L);
    set(transfer, CURLOPT_SSL_VERIFYHOST, options.insecure ? 0L : 2L);
    const std::string& credentials = target.credentials.empty() ? options.user : target.credentials;
    if (credentials.empty()) return;
    set(transfer, CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
    set(transfer, CURLOPT_USERPWD, credentials.c_str());
  }

  std::string problem_of(const Transfer& transfer, CURLcode code) {
    if (transfer.too_large && transfer.header_bytes > kMaxHeaderBytes) return "sends more than 1 MiB of headers";
    if (transfer.too_large)
      return "sends more than " + std::to_string(options.max_bytes >> 20U) + " MiB: is that a page of metrics?";
    const char* const text = transfer.error.front() != '\0' ? transfer.error.data() : curl.easy_strerror(code);
    long os_error = 0;
    curl.easy_getinfo(transfer.easy, CURLINFO_OS_ERRNO, &os_error);
    return describe({.code = code,
                     .detail = clean_text(text, kMaxProblemBytes),
                     .os_error = static_cast<int>(os_error),
                     .tls = targets[transfer.index].url.starts_with("https:"),
                     .client_certificate = !options.cert.empty(),
                     .max_time = seconds_text(options.max_time)});
  }

  Fetched finished(Transfer& transfer, CURLcode code) {
    transfer.under_way = false;
    curl.multi_remove_handle(multi, transfer.easy);
    std::string body = std::exchange(transfer.body, {});
    if (code != CURLE_OK) return {{}, problem_of(transfer, code)};
    long status = 0;
    curl.easy_getinfo(transfer.easy, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200) return {{}, status_problem(status)};
    return {std::move(body), {}};
  }
};

HttpFetcher::HttpFetcher(std::vector<ScrapeTarget> targets, const ClientOptions& options)
    : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.curl.global_init(CURL_GLOBAL_DEFAULT);
  state.options = options;
  state.targets = std::move(targets);
  state.multi = state.curl.multi_init();
  if (state.multi == nullptr) throw std::runtime_error("libcurl: out of memory");
  for (const ScrapeTarget& target : state.targets) {
    auto& transfer = state.transfers.emplace_back(std::make_unique<State::Transfer>());
    transfer->index = state.transfers.size() - 1;
    transfer->max_bytes = options.max_bytes;
    state.prepare(*transfer, target);
  }
}

HttpFetcher::~HttpFetcher() = default;

void HttpFetcher::start(std::size_t target) {
  State::Transfer& transfer = *state_->transfers[target];
  if (transfer.under_way) return;
  transfer.body.clear();
  transfer.error.front() = '\0';
  transfer.header_bytes = 0;
  transfer.too_large = false;
  transfer.under_way = state_->curl.multi_add_handle(state_->multi, transfer.easy) == CURLM_OK;
}

bool HttpFetcher::under_way(std::size_t target) const { return state_->transfers[target]->under_way; }

void HttpFetcher::run(std::chrono::steady_clock::time_point until, const Done& done) {
  State& state = *state_;
  for (;;) {
    int running = 0;
    state.curl.multi_perform(state.multi, &running);
    bool ended = false;
    int left = 0;
    while (const CURLMsg* message = state.curl.multi_info_read(state.multi, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      State::Transfer* transfer = nullptr;
      const CURLcode code = message->data.result;  // the message goes with its handle
      state.curl.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
      Fetched fetched = state.finished(*transfer, code);
      ended = true;
      done(transfer->index, std::move(fetched));
    }
    const auto now = std::chrono::steady_clock::now();
    if (ended || now >= until) return;
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(until - now).count();
    int events = 0;
    state.curl.multi_poll(state.multi, nullptr, 0, static_cast<int>(std::min<decltype(wait)>(wait, 60'000)), &events);
    if (events == 0) return;  // woken, or a timer of libcurl: the caller checks what it waits for
  }
}

void HttpFetcher::wake() { state_->curl.multi_wakeup(state_->multi); }

}  // namespace igpu::exporter
