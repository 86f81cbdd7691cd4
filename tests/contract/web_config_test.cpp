// SPDX-License-Identifier: Apache-2.0
// tests/web_config: files that must be accepted, files that must be rejected, and what `promtool check web-config`
// reports for the same files. Where we differ from it, the reason is given here.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "server/web_config/web_config_file.h"
#include "support/paths.h"
#include "support/recording_log.h"
#include "support/run_program.h"
#include "support/test_authority.h"

namespace fs = std::filesystem;
using namespace igpu::exporter;
using namespace igpu::test;

namespace {

// Good, but not for the promtool of Debian 12 (2.42, exporter-toolkit 0.8).
const std::map<std::string, std::string> kNewerThanPromtool = {
    {"client-certificate-named.yml", "client_allowed_sans came with exporter-toolkit 0.9"},
    {"inline.yml", "cert, key and client_ca came with exporter-toolkit 0.12"},
    {"rate-limit.yml", "rate_limit came later"},
    {"rate-limit-off.yml", "rate_limit came later"},
};

// Accepted by promtool. Each would be served differently from what it says, or never work.
const std::map<std::string, std::string> kRefusedByUsAlone = {
    {"certificate-too-weak.yml", "OpenSSL's security level 2 has no RSA below 2048 bits: no client would accept it"},
    {"certificate-signed-by-sha1.yml", "OpenSSL's security level 2; no client of today would accept it"},
    {"cipher-none-for-the-version.yml", "no handshake could succeed"},
    {"client-ca-junk.yml", "an empty list of authorities: no client could come in"},
    {"header-with-control-characters.yml", "cannot be sent in a header"},
    {"merge-key.yml",
     "which settings hold would depend on what is merged where; written out, they can be read and compared"},
    {"merge-key-among-users.yml", "the same: who is let in is written out"},
    {"second-document.yml", "the toolkit ignores it; here it would have asked for a password"},
    {"tls-empty-paths.yml", "asks for TLS, would be served in the clear"},
    {"tls-settings-without-certificate.yml", "asks for TLS, would be served in the clear"},
    {"user-hash-2x.yml", "crypt and Go read $2x$ differently"},
    {"user-hash-cost-31.yml", "days for each check"},
    {"user-hash-too-long.yml", "no password could match"},
    {"user-hash-wrong-characters.yml", "no password could match"},
    {"user-null.yml", "the toolkit makes it a user without a name"},
    {"user-null-word.yml", "the toolkit makes it a user without a name, not one that is called null"},
    {"user-tilde.yml", "the toolkit makes it a user without a name"},
    {"user-with-colon.yml", "cannot be sent in a request"},
    {"versions-reversed.yml", "no handshake could succeed"},
};

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
}

// The corpus beside the certificates that it names.
struct Corpus {
  ScratchFolder folder;
  Corpus() {
    const TestAuthority authority(folder);
    authority.issue({.name = "server"});
    authority.issue({.name = "client"});
    authority.issue({.name = "rsa", .key_type = "rsa:2048"});
    authority.issue({.name = "weak", .key_type = "rsa:1024"});
    authority.issue({.name = "sha1", .digest = "sha1"});
    folder.write("chain.pem", content(folder.path("server.pem")) + content(folder.path("ca.pem")));
    ::setenv("SSL_CERT_FILE", folder.path("ca.pem").c_str(), 1);  // the system's authorities, wherever this runs
    folder.write("junk.pem", "nothing that anybody could read\n");
    folder.write("empty.pem", "");
    openssl({"pkey", "-in", folder.path("server.key"), "-aes256", "-passout", "pass:x", "-out",
             folder.path("encrypted.key")});
  }
  ~Corpus() { ::unsetenv("SSL_CERT_FILE"); }
  Corpus(const Corpus&) = delete;
  Corpus& operator=(const Corpus&) = delete;
  std::string place(const fs::path& file) const {
    std::string text = content(file);
    replace_all(text, "@FOLDER@", folder.path(""));
    replace_all(text, "@NAME@", fs::path(folder.path("x")).parent_path().filename().string());
    for (const char* name : {"server.pem", "server.key", "ca.pem"}) {
      std::string pem = content(folder.path(name));
      pem.pop_back();
      replace_all(pem, "\n", "\n    ");
      replace_all(text, std::string("@") + name + "@", pem);
    }
    return folder.write(file.filename().string(), text);
  }
};

std::set<fs::path> files_in(const char* name) {
  std::set<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(source_folder()) / "tests/web_config" / name))
    files.insert(entry.path());
  return files;
}

// "" if we take the file.
std::string our_word(const std::string& path) {
  RecordingLog log;
  try {
    const WebConfigFile file(path, log);
    return "";
  } catch (const FlagFileError& error) {
    return error.what();
  }
}

void compare(const char* kind, bool good, const std::map<std::string, std::string>& exceptions) {
  const Corpus corpus;
  std::set<std::string> unused;
  for (const auto& [name, reason] : exceptions) unused.insert(name);
  for (const fs::path& file : files_in(kind)) {
    const std::string name = file.filename().string();
    CAPTURE(name);
    const std::string path = corpus.place(file);
    const std::string refusal = our_word(path);
    CAPTURE(refusal);
    CHECK(refusal.empty() == good);
    if (!good) {
      CHECK(refusal.find(path) != std::string::npos);
      CHECK(refusal.find('\n') == std::string::npos);
      CHECK(refusal.find("secret") == std::string::npos);
    }
    const ProgramOutcome promtool = run_program({"promtool", "check", "web-config", path});
    REQUIRE(promtool.status != 127);
    CAPTURE(promtool.output);
    const bool agrees = (promtool.status == 0) == good;
    CHECK(agrees != exceptions.contains(name));
    unused.erase(name);
  }
  CHECK(unused.empty());
}

}  // namespace

TEST_SUITE_BEGIN("web_config_corpus");

TEST_CASE("valid files are accepted here and by promtool") {
  CHECK(files_in("good").size() >= 40);
  compare("good", true, kNewerThanPromtool);
}

TEST_CASE("invalid files are rejected here and by promtool") {
  CHECK(files_in("bad").size() >= 70);
  compare("bad", false, kRefusedByUsAlone);
}

TEST_CASE("the examples of docs/web-config.md are valid, and so are the scrape configurations and rules beside them") {
  const Corpus corpus;
  std::istringstream page(content(fs::path(source_folder()) / "docs/web-config.md"));
  std::map<std::string, int> seen;
  std::string block;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line == "```yaml") {
      inside = true;
    } else if (line == "```" && inside) {
      inside = false;
      const std::string kind = block.substr(0, block.find(':'));
      CAPTURE(block);
      const std::string path = corpus.folder.write("example.yml", block);
      ++seen[kind];
      if (kind == "scrape_configs") {
        CHECK(run_program({"promtool", "check", "config", "--syntax-only", path}).status == 0);
      } else if (kind == "groups") {
        CHECK(run_program({"promtool", "check", "rules", path}).status == 0);
      } else {
        CHECK(our_word(path) == "");
      }
      block.clear();
    } else if (inside) {
      block += line + '\n';
    }
  }
  CHECK(seen == std::map<std::string, int>{
                    {"basic_auth_users", 1}, {"groups", 1}, {"scrape_configs", 3}, {"tls_server_config", 3}});
}

TEST_SUITE_END();
