// SPDX-License-Identifier: Apache-2.0
#include "server/web_config/web_config_file.h"

#include <doctest/doctest.h>
#include <openssl/ssl.h>
#include <sys/stat.h>

#include "support/recording_log.h"
#include "support/test_authority.h"

using namespace igpu;
using namespace igpu::exporter;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

// Neither is weaker than the other.
constexpr const char* kHeader = "http_server_config: {headers: {X-XSS-Protection: one}}\n";
constexpr const char* kOtherHeader = "http_server_config: {headers: {X-XSS-Protection: other}}\n";
constexpr const char* kTls = "tls_server_config: {cert_file: server.pem, key_file: server.key}\n";

std::string first_header(const WebConfigFile& file) {
  const auto loaded = file.loaded();
  return loaded->config.headers.empty() ? "" : loaded->config.headers.front().second;
}

std::string refusal(const std::string& path) {
  RecordingLog log;
  try {
    const WebConfigFile file(path, log);
    return "";
  } catch (const FlagFileError& error) {
    CHECK(std::string_view(error.what()).find('\n') == std::string_view::npos);
    return error.what();
  }
}

}  // namespace

TEST_SUITE_BEGIN("web_config_file");

TEST_CASE("a start with an invalid file fails with one clear line") {
  const ScratchFolder folder;
  CHECK(refusal(folder.path("none.yml")) ==
        "--web.config.file: " + folder.path("none.yml") + " cannot be read: No such file or directory");
  CHECK(refusal(folder.path("")).find("Is a directory") != std::string::npos);
  CHECK(refusal("/dev/null").find("not a regular file") != std::string::npos);
  REQUIRE(::mkfifo(folder.path("fifo").c_str(), 0600) == 0);
  CHECK(refusal(folder.path("fifo")).find("not a regular file") != std::string::npos);
  CHECK(refusal(folder.write("huge.yml", std::string(3U << 20, '#'))).find("larger than 1 MiB") != std::string::npos);
  CHECK(refusal(folder.write("bad.yml", "a: 1\n")).find("bad.yml:1: unknown key \"a\"") != std::string::npos);
  const std::string missing = refusal(folder.write("tls.yml", kTls));
  CHECK(missing.find("tls.yml:1: cert_file " + folder.path("server.pem") + " cannot be read: No such file") !=
        std::string::npos);
  CHECK(missing.find("relative to the folder of the configuration") != std::string::npos);
}

TEST_CASE("a changed file is read by the next check") {
  const ScratchFolder folder;
  RecordingLog log;
  WebConfigFile file(folder.write("web.yml", kHeader), log);
  CHECK(first_header(file) == "one");
  folder.write("web.yml", kOtherHeader);
  CHECK(first_header(file) == "one");
  file.reload_if_changed();
  CHECK(first_header(file) == "other");
  CHECK(log.count(LogLevel::info) == 1);
  CHECK(file.successful());
}

TEST_CASE("a file that is rewritten in place right away, with the same size, is detected") {
  const ScratchFolder folder;
  RecordingLog log;
  const std::string path = folder.write("web.yml", "http_server_config: {headers: {X-XSS-Protection: '1'}}\n");
  WebConfigFile file(path, log);
  std::ofstream(path) << "http_server_config: {headers: {X-XSS-Protection: '2'}}\n";  // in place
  file.reload_if_changed();
  CHECK(first_header(file) == "2");
}

TEST_CASE(
    "an invalid file keeps the last valid one in use, is logged once per error, and is used again when it is valid") {
  const ScratchFolder folder;
  RecordingLog log;
  WebConfigFile file(folder.write("web.yml", kHeader), log);
  folder.write("web.yml", "nonsense: 1\n");
  for (int i = 0; i < 5; ++i) {
    file.reload_if_changed();
    CHECK(first_header(file) == "one");
    CHECK_FALSE(file.successful());
  }
  REQUIRE(log.count(LogLevel::error) == 1);
  CHECK(log.lines().back().text.find("web.yml:1: unknown key") != std::string::npos);
  CHECK(log.lines().back().text.find("hint=correct it; `intel-gpu-exporter doctor --web.config.file=") !=
        std::string::npos);
  std::filesystem::remove(folder.path("web.yml"));
  file.reload_if_changed();
  CHECK(first_header(file) == "one");
  CHECK(log.count(LogLevel::error) == 2);
  folder.write("web.yml", kHeader);
  file.reload_if_changed();
  CHECK(first_header(file) == "one");
  CHECK(file.successful());
  CHECK(log.lines().back().text.find("valid again") != std::string::npos);
  folder.write("web.yml", kOtherHeader);
  file.reload_if_changed();
  CHECK(first_header(file) == "other");
  CHECK(log.count(LogLevel::error) == 2);
}

TEST_CASE("certificates and keys are reloaded, too; a pair that is replaced in two steps is never mixed") {
  const ScratchFolder folder;
  const TestAuthority authority(folder);
  authority.issue({.name = "server"});
  authority.issue({.name = "next"});
  RecordingLog log;
  WebConfigFile file(folder.write("web.yml", kTls), log);
  const std::shared_ptr<SSL_CTX> first = file.loaded()->tls;
  REQUIRE(first != nullptr);
  CHECK(file.files() ==
        std::vector<std::string>{folder.path("web.yml"), folder.path("server.pem"), folder.path("server.key")});

  std::filesystem::rename(folder.path("next.pem"), folder.path("server.pem"));
  file.reload_if_changed();
  CHECK(file.loaded()->tls == first);
  CHECK_FALSE(file.successful());
  std::filesystem::rename(folder.path("next.key"), folder.path("server.key"));
  file.reload_if_changed();
  const std::shared_ptr<SSL_CTX> second = file.loaded()->tls;
  CHECK(second != first);
  CHECK(file.successful());
  CHECK(log.count(LogLevel::error) == 1);
  CHECK(SSL_CTX_check_private_key(first.get()) == 1);  // connections that use it go on
}

TEST_CASE("touched or copied files change nothing") {
  const ScratchFolder folder;
  const TestAuthority authority(folder);
  authority.issue({.name = "server"});
  RecordingLog log;
  WebConfigFile file(folder.write("web.yml", kTls), log);
  const std::shared_ptr<SSL_CTX> first = file.loaded()->tls;
  folder.write("web.yml", kTls);
  std::filesystem::last_write_time(folder.path("server.pem"), std::filesystem::file_time_type::clock::now());
  file.reload_if_changed();
  CHECK(file.loaded()->tls == first);
  CHECK(log.lines().empty());
}

TEST_CASE("a secret that Kubernetes replaces by changing a symbolic link is detected") {
  const ScratchFolder folder;
  std::filesystem::create_directory(folder.path("one"));
  std::filesystem::create_directory(folder.path("two"));
  folder.write("one/web.yml", kHeader);
  folder.write("two/web.yml", kOtherHeader);
  std::filesystem::create_symlink("one", folder.path("data"));
  RecordingLog log;
  WebConfigFile file(folder.path("data/web.yml"), log);
  CHECK(first_header(file) == "one");
  std::filesystem::create_symlink("two", folder.path("data.new"));
  std::filesystem::rename(folder.path("data.new"), folder.path("data"));
  file.reload_if_changed();
  CHECK(first_header(file) == "other");
}

TEST_CASE("TLS is not turned on or off by a reload") {
  const ScratchFolder folder;
  const TestAuthority authority(folder);
  authority.issue({.name = "server"});
  RecordingLog log;
  WebConfigFile secure(folder.write("secure.yml", kTls), log);
  WebConfigFile plain(folder.write("plain.yml", ""), log);
  folder.write("secure.yml", "");
  folder.write("plain.yml", kTls);
  secure.reload_if_changed();
  CHECK(secure.loaded()->tls != nullptr);
  CHECK(log.lines().back().text.find("TLS would be turned off; restart to accept") != std::string::npos);
  plain.reload_if_changed();
  CHECK(plain.loaded()->tls == nullptr);
  CHECK(log.lines().back().text.find("TLS would be turned on; restart to accept") != std::string::npos);
  CHECK_FALSE(secure.successful());
}

TEST_CASE("half a file weakens nothing: protection is removed by a restart only") {
  const ScratchFolder folder;
  const TestAuthority authority(folder);
  authority.issue({.name = "server"});
  const std::string hash = "$2y$10$wxGfzRFQYVOVQRqGQC3xLeGQCQ8p/vN0GxFmWwjy5pVjXJ4MAhzZ.";
  const std::string users = "basic_auth_users: {alice: " + hash + ", bob: " + hash + "}\n";
  const std::string one_user = "basic_auth_users: {bob: " + hash + "}\n";
  const auto tls = [](const std::string& more) {
    return "tls_server_config: {cert_file: server.pem, key_file: server.key" + more + "}\n";
  };
  const std::string ca = ", client_ca_file: ca.pem, client_auth_type: ";
  const auto after = [&](const std::string& before, const std::string& now) {
    RecordingLog log;
    WebConfigFile file(folder.write("web.yml", before), log);
    const auto first = file.loaded();
    folder.write("web.yml", now);
    file.reload_if_changed();
    const bool kept = file.loaded() == first;
    CHECK(kept == !file.successful());
    CHECK(kept == (log.count(LogLevel::error) == 1));
    if (kept) CHECK(log.lines().back().text.find("restart to accept") != std::string::npos);
    return kept ? "kept" : "taken";
  };
  CHECK(after(users, "") == "kept");
  CHECK(after(users, "basic_auth_users: {}\n") == "kept");
  CHECK(after(users, one_user) == "taken");
  CHECK(after(one_user, users) == "taken");
  CHECK(after("", users) == "taken");
  CHECK(after(tls("") + users, tls("")) == "kept");
  for (const char* weaker : {"", ", client_auth_type: RequestClientCert", ", client_auth_type: RequireAnyClientCert"}) {
    CAPTURE(weaker);
    CHECK(after(tls(ca + "RequireAndVerifyClientCert"), tls(weaker)) == "kept");
  }
  CHECK(after(tls(ca + "RequireAndVerifyClientCert"), tls(ca + "VerifyClientCertIfGiven")) == "kept");
  CHECK(after(tls(ca + "VerifyClientCertIfGiven"), tls(ca + "RequireAndVerifyClientCert")) == "taken");
  CHECK(after(tls(", client_auth_type: RequestClientCert"), tls("")) == "taken");  // requested, all accepted
  const std::string names = ", client_allowed_sans: [";
  CHECK(after(tls(ca + "RequireAndVerifyClientCert" + names + "a.example]"), tls(ca + "RequireAndVerifyClientCert")) ==
        "kept");
  CHECK(after(tls(ca + "RequireAndVerifyClientCert" + names + "a.example]"),
              tls(ca + "RequireAndVerifyClientCert" + names + "b.example]")) == "taken");
}

TEST_CASE("the TLS policy changes if the rules for client certificates change, and only then") {
  const ScratchFolder folder;
  const TestAuthority authority(folder);
  authority.issue({.name = "server"});
  authority.issue({.name = "next"});
  RecordingLog log;
  const std::string start = "tls_server_config: {cert_file: server.pem, key_file: server.key";
  const std::string verify = ", client_auth_type: RequireAndVerifyClientCert, client_ca_file: ca.pem";
  WebConfigFile file(folder.write("web.yml", start + "}\n"), log);
  const auto policy_of = [&](const std::string& text) {
    folder.write("web.yml", text);
    file.reload_if_changed();
    CHECK(file.successful());
    return file.loaded()->tls_policy;
  };
  const std::uint64_t open = file.loaded()->tls_policy;
  CHECK(policy_of("tls_server_config: {cert_file: next.pem, key_file: next.key}\n") == open);
  const std::uint64_t verified = policy_of(start + verify + "}\n");
  CHECK(verified != open);
  const std::uint64_t named = policy_of(start + verify + ", client_allowed_sans: [a.example]}\n");
  CHECK(named != verified);
  CHECK(policy_of(start + verify + ", client_allowed_sans: [b.example]}\n") != named);
  const std::uint64_t before = file.loaded()->tls_policy;
  std::filesystem::copy_file(folder.path("next.pem"), folder.path("ca.pem"),
                             std::filesystem::copy_options::overwrite_existing);
  file.reload_if_changed();
  CHECK(file.loaded()->tls_policy != before);
}

TEST_SUITE_END();
