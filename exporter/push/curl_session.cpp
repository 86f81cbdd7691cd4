// SPDX-License-Identifier: Apache-2.0
#include "push/curl_session.h"

#include <arpa/inet.h>
#include <poll.h>
#include <time.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "self/build_info.h"
#include "text/unicode.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kMaxProblemBytes = 300;

// Takes the socket that the other process connected. libcurl would connect to this address, which is never used.
curl_socket_t hand_over(void* socket, curlsocktype purpose, curl_sockaddr*) {
  if (purpose != CURLSOCKTYPE_IPCXN) return CURL_SOCKET_BAD;
  return static_cast<UniqueFd*>(socket)->release();  // -1, CURL_SOCKET_BAD, for a second time
}

int already_connected(void*, curl_socket_t, curlsocktype) { return CURL_SOCKOPT_ALREADY_CONNECTED; }

bool is_literal(const std::string& host) {
  std::array<unsigned char, 16> address{};
  return ::inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

}  // namespace

CurlSession::CurlSession(PushRoute route, std::string ca, Connector connector)
    : curl_("--push"), route_(std::move(route)), ca_(std::move(ca)), connector_(std::move(connector)) {
  curl_.global_init(CURL_GLOBAL_DEFAULT);
  ::tzset();  // libcurl converts times; the first call reads the local time zone, which the sandbox does not let it
  constexpr unsigned kOldest = 0x075500;  // 7.85.0: CURLOPT_PROTOCOLS_STR
  if (const curl_version_info_data* const found = curl_.version_info(CURLVERSION_NOW); found->version_num < kOldest)
    throw std::runtime_error(std::string("--push needs libcurl 7.85 or newer; this machine has ") + found->version);
  // Creates a pair of sockets, which the sandbox forbids later.
  multi_ = curl_.multi_init();
  if (multi_ == nullptr) throw std::runtime_error("libcurl: out of memory");
}

CurlSession::~CurlSession() { curl_.multi_cleanup(multi_); }

CurlSession::Attempt::Attempt(CurlSession& session) : session_(session), easy_(session.curl_.easy_init()) {
  if (easy_ == nullptr) throw std::runtime_error("libcurl: out of memory");
}

CurlSession::Attempt::~Attempt() {
  session_.curl_.multi_remove_handle(session_.multi_, easy_);  // no error if it was not added
  session_.curl_.easy_cleanup(easy_);
  session_.curl_.slist_free_all(resolved_);
}

void CurlSession::Attempt::check(CURLcode code) const {
  if (code != CURLE_OK) throw std::runtime_error(std::string("libcurl: ") + session_.curl_.easy_strerror(code));
}

std::unique_ptr<CurlSession::Attempt> CurlSession::begin(const PushWait& wait, std::string& problem) {
  Connector::Connected connected = connector_.connect(wait);
  problem = connected.problem;
  if (!connected.socket) return nullptr;
  std::unique_ptr<Attempt> attempt(new Attempt(*this));
  attempt->socket_ = std::move(connected.socket);
  const PushAddress& to = route_.address;
  const std::string url = (to.tls ? "https://" : "http://") + to.authority() + (to.path.empty() ? "/" : to.path);
  attempt->set(CURLOPT_URL, url.c_str());
  attempt->set(CURLOPT_PROTOCOLS_STR, "http,https");
  attempt->set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  attempt->set(CURLOPT_NOSIGNAL, 1L);
  attempt->set(CURLOPT_FOLLOWLOCATION, 0L);
  attempt->set(CURLOPT_FORBID_REUSE, 1L);
  attempt->set(CURLOPT_ERRORBUFFER, attempt->error_.data());
  // The environment's variables were read once, at the start, when the endpoint was chosen.
  attempt->set(CURLOPT_PROXY, route_.proxy.c_str());
  attempt->set(CURLOPT_NOPROXY, "");
  attempt->set(CURLOPT_SSL_VERIFYPEER, 1L);
  attempt->set(CURLOPT_SSL_VERIFYHOST, 2L);
  attempt->set(CURLOPT_OPENSOCKETFUNCTION, &hand_over);
  attempt->set(CURLOPT_OPENSOCKETDATA, &attempt->socket_);
  attempt->set(CURLOPT_SOCKOPTFUNCTION, &already_connected);
  if (!is_literal(route_.endpoint.host)) {
    const std::string entry = route_.endpoint.host + ":" + std::to_string(route_.endpoint.port) + ":127.0.0.1";
    attempt->resolved_ = curl_.slist_append(nullptr, entry.c_str());
    attempt->set(CURLOPT_RESOLVE, attempt->resolved_);
  }
  if (!ca_.empty()) {
    curl_blob blob{ca_.data(), ca_.size(), CURL_BLOB_NOCOPY};
    attempt->set(CURLOPT_CAINFO_BLOB, &blob);
    if (route_.proxy.starts_with("https:")) attempt->set(CURLOPT_PROXY_CAINFO_BLOB, &blob);
  }
  const std::string agent = std::string(kProgramName) + "/" + std::string(build_info().version);
  attempt->set(CURLOPT_USERAGENT, agent.c_str());
  return attempt;
}

std::optional<CURLcode> CurlSession::run(Attempt& attempt, const PushWait& wait) {
  if (curl_.multi_add_handle(multi_, attempt.easy_) != CURLM_OK) return CURLE_FAILED_INIT;
  for (;;) {
    int running = 0;
    curl_.multi_perform(multi_, &running);
    int left = 0;
    while (const CURLMsg* message = curl_.multi_info_read(multi_, &left))
      if (message->msg == CURLMSG_DONE && message->easy_handle == attempt.easy_) return message->data.result;
    const auto rest = wait.left();
    if (rest.count() == 0) return CURLE_OPERATION_TIMEDOUT;
    curl_waitfd interrupt{wait.interrupt, CURL_WAIT_POLLIN, 0};
    int events = 0;
    curl_.multi_poll(multi_, &interrupt, wait.interrupt < 0 ? 0U : 1U,
                     static_cast<int>(std::min<std::chrono::milliseconds::rep>(rest.count(), 60'000)), &events);
    if (interrupt.revents != 0) return std::nullopt;
  }
}

std::string CurlSession::problem_of(const Attempt& attempt, CURLcode code) const {
  const std::string detail =
      clean_text(attempt.error_.front() != '\0' ? attempt.error_.data() : curl_.easy_strerror(code), kMaxProblemBytes);
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
      return "no complete answer in time; check the receiver's load and what is between it and this machine";
    case CURLE_PEER_FAILED_VERIFICATION:
      if (contains(detail, "does not match") || contains(detail, "no alternative certificate subject name"))
        return "the receiver's certificate is for another name: " + detail + "; use the name of its certificate";
      return "the receiver's certificate is not trusted: " + detail + "; --push.cacert FILE names its issuer";
    case CURLE_SSL_CACERT_BADFILE:
      return "TLS: " + detail + "; --push.cacert FILE names a file with PEM certificates";
    case CURLE_SSL_CONNECT_ERROR:
      if (contains(detail, "wrong version number"))
        return "the receiver does not speak TLS; if it should not, use the URL's scheme without TLS";
      return "TLS handshake failed: " + detail;
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_PROXY:
      return "the proxy failed: " + detail + "; check *_proxy in the environment, or add the host to no_proxy";
    case CURLE_GOT_NOTHING:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return detail + (route_.address.tls ? "; check the URL's port" : "; if the receiver speaks TLS, use its scheme");
    default:
      if (contains(detail, "CONNECT"))
        return "the proxy failed: " + detail + "; check *_proxy in the environment, or add the host to no_proxy";
      return detail + "; check the receiver";
  }
}

}  // namespace igpu::exporter
