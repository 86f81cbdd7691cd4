// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <curl/curl.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "igpu/unique_fd.h"
#include "platform/helper_socket.h"
#include "server/push/address.h"
#include "server/push/push_target.h"
#include "view/client/curl_library.h"

namespace igpu::exporter {

// A separate process resolves the name of a receiver, so that the one that talks to the receiver needs neither UDP nor
// files of the name service (docs/sandbox.md).

// Loads the resolver's modules. Called in the resolving process before its filter of system calls is on. The name need
// not resolve.
void prepare_to_resolve(const PushEndpoint& endpoint);

// Runs in the resolving process: resolves this name on request, until the other end of the socket is closed.
void serve_addresses(int socket, const PushEndpoint& endpoint);

// Used by one thread of the process that talks to the receiver.
class Resolver {
 public:
  Resolver(UniqueFd socket, std::string host) : socket_(std::move(socket)), host_(std::move(host)) {}

  struct Resolved {
    std::vector<std::string> addresses;  // numeric, in the order in which to try them
    std::string problem;                 // if there are none: one line with the fix, or "" after an interruption
  };
  Resolved resolve(const PushWait& wait);

 private:
  HelperSocket socket_;
  std::string host_;
};

// libcurl for one target: connections, TLS, proxies and HTTP. Construct it before the sandbox closes; then one thread
// uses it.
class CurlSession {
 public:
  // ca: PEM, trusted instead of the system's authorities; "": the system's. Throws std::runtime_error, also if libcurl
  // is missing. resolver: if the endpoint is a name.
  CurlSession(PushRoute route, std::string ca, std::optional<Resolver> resolver);
  ~CurlSession();
  CurlSession(const CurlSession&) = delete;
  CurlSession& operator=(const CurlSession&) = delete;

  // One attempt with its own connection and handle. The destructor closes the connection.
  class Attempt {
   public:
    ~Attempt();
    Attempt(const Attempt&) = delete;
    Attempt& operator=(const Attempt&) = delete;
    CURL* handle() const { return easy_; }
    // Throws std::runtime_error.
    template <class T>
    void set(CURLoption option, T value) {
      check(session_.curl_.easy_setopt(easy_, option, value));
    }

   private:
    friend class CurlSession;
    explicit Attempt(CurlSession& session);
    void check(CURLcode code) const;

    CurlSession& session_;
    CURL* easy_ = nullptr;
    curl_slist* resolved_ = nullptr;
    std::array<char, CURL_ERROR_SIZE> error_{};
  };

  // Resolves the name, and prepares a handle with the address, the proxy and the verification of certificates. Null:
  // problem says why ("" after an interruption).
  std::unique_ptr<Attempt> begin(const PushWait& wait, std::string& problem);

  // Connects, and performs the attempt to its end. nullopt: interrupted.
  std::optional<CURLcode> run(Attempt& attempt, const PushWait& wait);

  // Describes the failure in one line, with the fix.
  std::string problem_of(const Attempt& attempt, CURLcode code) const;

  const CurlLibrary& curl() const { return curl_; }
  const PushRoute& route() const { return route_; }

 private:
  std::string addresses(const PushWait& wait, std::string& problem);  // separated by commas
  bool is_connected(const Attempt& attempt) const;

  CurlLibrary curl_;
  PushRoute route_;
  std::string ca_;
  std::optional<Resolver> resolver_;
  std::string worked_;      // the address of the last connection
  std::string unresolved_;  // why it is used again; "": it is not
  CURLM* multi_ = nullptr;
};

}  // namespace igpu::exporter
