// SPDX-License-Identifier: Apache-2.0
#include "server/push/otlp.h"

#include <limits>

#include "platform/own_process.h"
#include "text/text.h"
#include "view/format/proto.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kMostBytes = std::size_t{4} << 20U;  // of an answer, by the specification
constexpr std::size_t kMostHeaderBytes = std::size_t{64} << 10U;

struct OtlpAnswer {
  std::string body;
  std::size_t header_bytes = 0;
};

std::size_t take_body(char* data, std::size_t, std::size_t size, void* of) {
  auto& answer = *static_cast<OtlpAnswer*>(of);
  if (size > kMostBytes - answer.body.size()) return 0;  // ends the attempt
  answer.body.append(data, size);
  return size;
}

std::size_t count_header(char*, std::size_t unit, std::size_t count, void* of) {
  auto& answer = *static_cast<OtlpAnswer*>(of);
  answer.header_bytes += unit * count;
  return answer.header_bytes <= kMostHeaderBytes ? unit * count : 0;
}

class HeaderList {
 public:
  explicit HeaderList(const CurlLibrary& curl) : curl_(curl) {}
  ~HeaderList() { curl_.slist_free_all(list_); }
  HeaderList(const HeaderList&) = delete;
  HeaderList& operator=(const HeaderList&) = delete;
  void add(const std::string& line) { list_ = curl_.slist_append(list_, line.c_str()); }
  curl_slist* get() const { return list_; }

 private:
  const CurlLibrary& curl_;
  curl_slist* list_ = nullptr;
};

std::string problem_of_status(long status, const std::string& url) {
  const std::string answer = "the receiver answers HTTP " + std::to_string(status);
  if (status == 401 || status == 403)
    return answer + ": it wants other credentials, in the file of " + std::string(kOtlpCredentialsFlag);
  if (status == 404 || status == 405)
    return answer + ": " + url +
           " is not where it takes metrics; docs/integrations.md has the URLs of common receivers";
  if (status == 407) return answer + ": the proxy wants credentials, in the URL of *_proxy in the environment";
  if (status == 413) return answer + ": raise its limit for the size of a request, or turn collectors off";
  if (status == 429 || status == 503) return answer + ": it is overloaded; raise --push.interval or its limits";
  if (status >= 300 && status < 400) return answer + ": give the URL to which it redirects";
  return answer + "; its log says why";
}

constexpr std::size_t kMaxMessageBytes = 200;

// After it is cleaned, which could join the parts of a token, and before it is cut, which could leave one.
std::string message_of(std::string_view bytes, const PushCredentials& credentials) {
  return clean_text(without_credentials(clean_text(bytes), credentials), kMaxMessageBytes);
}

}  // namespace

PushAddress parse_otlp_address(std::string_view url) {
  PushAddress address = parse_push_address(url, {{"http", 80, false}, {"https", 443, true}}, kOtlpCredentialsFlag);
  if (address.path.empty() || address.path == "/") address.path = "/v1/metrics";
  return address;
}

OtlpReadings::OtlpReadings(OtlpEncoder::Attributes resource)
    : encoder_(std::move(resource), std::string(kProgramName), std::string(build_info().version)) {}

PushItem OtlpReadings::encode(const PageView& page, std::chrono::system_clock::time_point time) {
  PushItem item;
  item.samples = encoder_.encode(page, time, plain_);
  if (item.samples > 0) gzip_.compress(plain_, item.bytes);
  return item;
}

PushOutcome OtlpClient::deliver(std::string_view bytes, const PushWait& wait) {
  std::string problem;
  const CurlLibrary& curl = session_->curl();
  OtlpAnswer answer;
  HeaderList headers(curl);  // outlives the attempt
  const std::unique_ptr<CurlSession::Attempt> attempt = session_->begin(wait, problem);
  if (!attempt) return PushOutcome::later(problem);
  for (const char* header : {"Content-Type: application/x-protobuf", "Content-Encoding: gzip", "Expect:"})
    headers.add(header);
  for (const std::string& header : credentials_.headers) headers.add(header);
  attempt->set(CURLOPT_HTTPHEADER, headers.get());
  attempt->set(CURLOPT_HEADEROPT, static_cast<long>(CURLHEADER_SEPARATE));  // the proxy gets none of them
  if (!credentials_.user.empty()) {
    attempt->set(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
    attempt->set(CURLOPT_USERNAME, credentials_.user.c_str());
    attempt->set(CURLOPT_PASSWORD, credentials_.password.c_str());
  }
  attempt->set(CURLOPT_POST, 1L);
  attempt->set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(bytes.size()));
  attempt->set(CURLOPT_POSTFIELDS, bytes.data());
  attempt->set(CURLOPT_WRITEFUNCTION, &take_body);
  attempt->set(CURLOPT_WRITEDATA, &answer);
  attempt->set(CURLOPT_HEADERFUNCTION, &count_header);
  attempt->set(CURLOPT_HEADERDATA, &answer);
  const std::optional<CURLcode> code = session_->run(*attempt, wait);
  if (!code) return PushOutcome::later("");
  if (*code == CURLE_WRITE_ERROR)
    return PushOutcome::refused("the receiver's answer is too large; is the URL that of an OTLP receiver?");
  if (*code != CURLE_OK)
    return PushOutcome::later(without_credentials(session_->problem_of(*attempt, *code), credentials_));
  long status = 0;
  curl.easy_getinfo(attempt->handle(), CURLINFO_RESPONSE_CODE, &status);
  if (status >= 200 && status < 300) {
    const OtlpResponse response = parse_export_response(answer.body, credentials_);
    PushOutcome outcome;
    outcome.rejected = response.rejected;
    if (response.rejected > 0) outcome.problem = "the receiver rejects some of the samples; its log says why";
    outcome.detail = response.message;
    return outcome;
  }
  problem = problem_of_status(status, session_->route().address.authority() + session_->route().address.path);
  std::string words = parse_status(answer.body, credentials_).message;
  if (status != 429 && status != 502 && status != 503 && status != 504)
    return PushOutcome::refused(std::move(problem), std::move(words));
  PushOutcome outcome = PushOutcome::later(std::move(problem), std::move(words));
  curl_off_t seconds = 0;  // of Retry-After, from a number or a date; 0: there is none
  curl.easy_getinfo(attempt->handle(), CURLINFO_RETRY_AFTER, &seconds);
  if (seconds > 0) outcome.retry_after = std::chrono::seconds(std::min<curl_off_t>(seconds, 86'400));
  return outcome;
}

OtlpEncoder::Attributes own_resource() {
  const std::string host = own_host_name();
  return {{"host.name", host},
          {"service.name", std::string(kProgramName)},
          {"service.version", std::string(build_info().version)},
          {"service.instance.id", host}};
}

OtlpResponse parse_export_response(std::string_view body, const PushCredentials& credentials) {
  OtlpResponse response;
  ProtoFields fields(body);
  for (ProtoField field; fields.next(field);) {
    if (field.number != 1) continue;
    ProtoFields partial(field.bytes);
    for (ProtoField part; partial.next(part);) {
      // An int64, which is not negative in a sound answer.
      if (part.number == 1 && part.value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        response.rejected = part.value;
      if (part.number == 2) response.message = message_of(part.bytes, credentials);
    }
  }
  return response;
}

OtlpResponse parse_status(std::string_view body, const PushCredentials& credentials) {
  OtlpResponse response;
  ProtoFields fields(body);
  for (ProtoField field; fields.next(field);)
    if (field.number == 2) response.message = message_of(field.bytes, credentials);
  return response;
}

}  // namespace igpu::exporter
