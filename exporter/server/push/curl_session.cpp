// SPDX-License-Identifier: Apache-2.0
#include "server/push/curl_session.h"

#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "igpu/words.h"
#include "platform/own_process.h"
#include "platform/sockets.h"
#include "text/text.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kMostAddresses = 8;

// The addresses, separated by commas, or a code of getaddrinfo(3).
HelperAnswer looked_up(const PushEndpoint& endpoint) {
  HelperAnswer answer;
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  Addresses list;
  answer.code = static_cast<std::uint32_t>(look_up(endpoint.host, nullptr, hints, list));
  std::vector<std::string> found;
  for (const addrinfo* at = list.get(); at != nullptr && found.size() < kMostAddresses; at = at->ai_next) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (::getnameinfo(at->ai_addr, at->ai_addrlen, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0)
      found.emplace_back(text.data());
  }
  put_text(joined(found, ","), answer.detail);
  return answer;
}

constexpr std::size_t kMaxProblemBytes = 300;

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

std::string problem_of_connecting(const PushEndpoint& endpoint, long error) {
  const std::string text = PushAddress{"", endpoint.host, "", endpoint.port, false}.authority() + ": " +
                           (error == 0 ? "cannot connect" : std::generic_category().message(static_cast<int>(error)));
  if (error == ECONNREFUSED) return text + "; is the receiver running, and is this its port?";
  if (error == EPERM || error == EACCES || error == EAFNOSUPPORT)
    return text + "; the unit, the container or a firewall forbids it (docs/integrations.md)";
  if (error == EMFILE || error == ENFILE) return text + "; raise the limit of open files";
  return text + "; check the URL, the network and firewalls";
}

}  // namespace

void prepare_to_resolve(const PushEndpoint& endpoint) {
  // With two servers that do not answer and one search domain, 8 s: less than an attempt to deliver has, so that there
  // is time for the address that worked.
  (void)::setenv("RES_OPTIONS", "timeout:2 attempts:1", 0);
  (void)looked_up(endpoint);
}

void serve_addresses(int socket, const PushEndpoint& endpoint) {
  serve_requests(socket, 0, 0, [&](const HelperRequest&) -> std::optional<HelperAnswer> {
    return has_more_requests(socket) ? HelperAnswer() : looked_up(endpoint);  // one that was given up needs none
  });
}

Resolver::Resolved Resolver::resolve(const PushWait& wait) {
  socket_.put({});
  PushWait::Ended how = PushWait::Ended::ready;
  const HelperSocket::Exchange exchange = socket_.finish([&](short events) {
    how = wait.on(socket_.descriptor(), events);
    return how == PushWait::Ended::ready;
  });
  if (exchange == HelperSocket::Exchange::ended)
    return {{}, "the process that resolves names has ended: restart the exporter"};
  if (how == PushWait::Ended::interrupted) return {};
  if (how == PushWait::Ended::late)
    return {{}, "the name " + host_ + " is not resolved in time; check the URL and this machine's DNS"};
  Resolved resolved;
  for (std::string_view rest = socket_.answer().detail.data(); !rest.empty();) {
    std::string address(take_until(rest, ','));
    if (is_address(address)) resolved.addresses.push_back(std::move(address));
  }
  if (!resolved.addresses.empty()) return resolved;
  const int error = static_cast<int>(socket_.answer().code);
  resolved.problem = "the name " + host_ + " cannot be resolved: " + ::gai_strerror(error == 0 ? EAI_NONAME : error) +
                     "; check the URL and this machine's DNS";
  return resolved;
}

CurlSession::CurlSession(PushRoute route, std::string ca, std::optional<Resolver> resolver)
    : curl_("--push"), route_(std::move(route)), ca_(std::move(ca)), resolver_(std::move(resolver)) {
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

std::string CurlSession::addresses(const PushWait& wait, std::string& problem) {
  Resolver::Resolved resolved = resolver_->resolve(wait);
  std::vector<std::string>& found = resolved.addresses;
  if (const auto at = std::ranges::find(found, worked_); at != found.end()) std::rotate(found.begin(), at, at + 1);
  // While DNS is down.
  const bool stale = found.empty() && !resolved.problem.empty() && !worked_.empty();
  unresolved_ = stale ? "; the address is that of the last connection, as " + resolved.problem : "";
  if (stale) return worked_;
  problem = resolved.problem;
  return joined(found, ",");
}

std::unique_ptr<CurlSession::Attempt> CurlSession::begin(const PushWait& wait, std::string& problem) {
  const std::string found = resolver_ ? addresses(wait, problem) : route_.endpoint.host;
  if (found.empty()) return nullptr;
  std::unique_ptr<Attempt> attempt(new Attempt(*this));
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
  for (const CURLoption lowest : {CURLOPT_SSLVERSION, CURLOPT_PROXY_SSLVERSION})
    attempt->set(lowest, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  attempt->set(CURLOPT_SSL_VERIFYPEER, 1L);
  attempt->set(CURLOPT_SSL_VERIFYHOST, 2L);
  // Of the time that is left, libcurl gives a half to each address but the last.
  attempt->set(CURLOPT_CONNECTTIMEOUT_MS, std::max(1L, static_cast<long>(wait.left().count())));
  if (resolver_) {
    const std::string entry = route_.endpoint.host + ":" + std::to_string(route_.endpoint.port) + ":" + found;
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

bool CurlSession::is_connected(const Attempt& attempt) const {
  curl_off_t time = 0;
  curl_.easy_getinfo(attempt.easy_, CURLINFO_CONNECT_TIME_T, &time);
  return time > 0;
}

std::optional<CURLcode> CurlSession::run(Attempt& attempt, const PushWait& wait) {
  if (curl_.multi_add_handle(multi_, attempt.easy_) != CURLM_OK) return CURLE_FAILED_INIT;
  for (;;) {
    int running = 0;
    curl_.multi_perform(multi_, &running);
    int left = 0;
    while (const CURLMsg* message = curl_.multi_info_read(multi_, &left))
      if (message->msg == CURLMSG_DONE && message->easy_handle == attempt.easy_) {
        const char* address = nullptr;
        if (is_connected(attempt) && curl_.easy_getinfo(attempt.easy_, CURLINFO_PRIMARY_IP, &address) == CURLE_OK &&
            address != nullptr)
          worked_ = address;
        return message->data.result;
      }
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
    case CURLE_COULDNT_CONNECT: {
      long error = 0;
      curl_.easy_getinfo(attempt.easy_, CURLINFO_OS_ERRNO, &error);
      return problem_of_connecting(route_.endpoint, error) + unresolved_;
    }
    case CURLE_OPERATION_TIMEDOUT:
      if (!is_connected(attempt)) return problem_of_connecting(route_.endpoint, ETIMEDOUT) + unresolved_;
      return "no complete answer in time; check the receiver's load and what is between it and this machine";
    case CURLE_PEER_FAILED_VERIFICATION:
      if (contains(detail, "does not match") || contains(detail, "no alternative certificate subject name"))
        return "the receiver's certificate is for another name: " + detail + "; use the name of its certificate";
      return "the receiver's certificate is not trusted: " + detail + "; --push.cacert FILE names its issuer";
    case CURLE_SSL_CACERT_BADFILE: return "TLS: " + detail + "; --push.cacert FILE names a file with PEM certificates";
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
