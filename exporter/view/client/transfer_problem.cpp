// SPDX-License-Identifier: Apache-2.0
#include "view/client/transfer_problem.h"

#include <cerrno>
#include <string_view>
#include <system_error>

namespace igpu::exporter {
namespace {

bool mentions(const FailedTransfer& failed, std::string_view text) {
  return failed.detail.find(text) != std::string::npos;
}

// In TLS 1.3 a server rejects a client only after the handshake: the connection ends while the request is sent or the
// answer is awaited, with or without an alert.
bool rejects_client(const FailedTransfer& failed) {
  if (!failed.tls) return false;
  if (failed.client_certificate) return mentions(failed, " alert ");
  if (failed.code == CURLE_SEND_ERROR || failed.code == CURLE_RECV_ERROR || failed.code == CURLE_GOT_NOTHING)
    return true;
  return mentions(failed, "alert certificate required") || mentions(failed, "alert handshake failure");
}

std::string untrusted(const FailedTransfer& failed) {
  if (mentions(failed, "does not match") || mentions(failed, "no alternative certificate subject name"))
    return "its certificate is for another name: " + failed.detail;
  return "its certificate is not trusted: " + failed.detail + "; --cacert FILE names its issuer";
}

std::string unreachable(const FailedTransfer& failed) {
  if (failed.os_error == 0) return failed.detail;
  return std::generic_category().message(failed.os_error) +
         (failed.os_error == ECONNREFUSED ? "; is the exporter running there?" : "");
}

}  // namespace

std::string describe(const FailedTransfer& failed) {
  if (rejects_client(failed)) {
    return failed.client_certificate
               ? "rejects the client certificate: " + failed.detail
               : "closed the connection; it may require a client certificate: --cert FILE --key FILE";
  }
  const std::string https = failed.tls ? "" : "; if it speaks TLS, begin its URL with https://";
  const CURLcode code = failed.code;
  if (code == CURLE_OPERATION_TIMEDOUT) return "no complete answer within " + failed.max_time;
  if (code == CURLE_COULDNT_RESOLVE_HOST) return "its name cannot be resolved";
  if (code == CURLE_COULDNT_CONNECT) return "cannot connect: " + unreachable(failed);
  if (code == CURLE_PEER_FAILED_VERIFICATION) return untrusted(failed);
  if (code == CURLE_SSL_CONNECT_ERROR)
    return mentions(failed, "wrong version number") ? "does not speak TLS; if it speaks HTTP, omit https://"
                                                    : "TLS handshake failed: " + failed.detail;
  if (code == CURLE_SSL_CERTPROBLEM || code == CURLE_SSL_CACERT_BADFILE) return "TLS: " + failed.detail;
  if (code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_WEIRD_SERVER_REPLY)
    return "does not speak HTTP: " + failed.detail + https;
  if (code == CURLE_GOT_NOTHING) return "closed the connection without an answer" + https;
  return "reading it failed: " + failed.detail + (code == CURLE_RECV_ERROR ? https : "");
}

}  // namespace igpu::exporter
