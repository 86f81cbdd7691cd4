// SPDX-License-Identifier: Apache-2.0
// Holds the third column of the codemap in collectors/README.md: who may include whom.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "support/paths.h"

namespace fs = std::filesystem;

namespace {

const fs::path kRoot = igpu::test::source_folder();

struct Include {
  std::string file;    // relative to the repository
  std::string target;  // as written
  bool system;         // <...>
};

std::vector<Include> includes_below(const fs::path& folder) {
  static const std::regex pattern(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  std::vector<Include> found;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
    if (entry.path().extension() != ".h" && entry.path().extension() != ".cpp") continue;
    std::ifstream file(entry.path());
    std::smatch match;
    for (std::string line; std::getline(file, line);)
      if (std::regex_search(line, match, pattern))
        found.push_back({fs::relative(entry.path(), kRoot).string(), match[2], match[1] == "<"});
  }
  return found;
}

std::string first_part(const std::string& path) { return path.substr(0, path.find('/')); }

using Rules = std::map<std::string, std::set<std::string>>;  // by folder: which others it may include

// Every folder has its rule.
void check_rooms(const fs::path& folder, const Rules& rules, const std::set<std::string>& without) {
  for (const auto& entry : fs::directory_iterator(kRoot / folder)) {
    const std::string name = entry.path().filename();
    if (!entry.is_directory() || without.contains(name)) continue;
    INFO("no rule for " << entry.path());
    CHECK(rules.contains(name));
  }
}

}  // namespace

TEST_SUITE_BEGIN("layers");

TEST_CASE("a folder of the library includes only folders that the codemap allows") {
  const std::map<std::string, std::set<std::string>> allowed = {
      {"include", {}},
      {"base", {}},
      {"machine", {}},
      {"device", {"machine"}},
      {"source", {"machine", "device", "tracker"}},
      {"metric", {}},
      {"model", {}},
      {"sampling", {"source", "machine"}},
      {"collector", {"device", "source", "metric", "machine", "sampling"}},
      {"registry", {"collector", "metric", "device", "machine", "source"}},
      {"simulation", {"machine", "device"}},
      {"c", {}},
      {"capture", {"machine", "device"}},
      {"gpu", {"collector", "registry", "device", "machine", "model", "monitor"}},
      {"monitor", {"collector", "registry", "source", "machine", "capture", "simulation"}},
  };
  check_rooms("collectors", allowed, {"python", "tracker"});  // the tracker has its own rules below
  std::size_t seen = 0;
  for (const auto& [folder, others] : allowed) {
    for (const Include& include : includes_below(fs::path("collectors") / folder)) {
      if (include.system || include.target.find('/') == std::string::npos) continue;
      const std::string target = first_part(include.target);
      ++seen;
      INFO(include.file << " includes " << include.target);
      CHECK((target == folder || target == "igpu" || (target == "base" && folder != "include") ||
             others.contains(target)));
    }
  }
  CHECK(seen > 50);
}

TEST_CASE("the tracker includes nothing of the library and nothing of the C++ runtime") {
  const std::set<std::string> header_only = {"cstddef", "cstdint", "new"};
  std::size_t seen = 0;
  for (const Include& include : includes_below("collectors/level_zero/tracker")) {
    ++seen;
    INFO(include.file << " includes " << include.target);
    if (include.system)
      CHECK((include.target.find(".h") != std::string::npos || header_only.contains(include.target)));
    else
      CHECK(first_part(include.target) == "tracker");
  }
  CHECK(seen > 20);
}

TEST_CASE("only machine/ touches the operating system") {
  const std::set<std::string> os = {"fcntl.h", "unistd.h", "dirent.h", "poll.h",     "signal.h",
                                    "time.h",  "sys",      "linux",    "filesystem", "fstream"};
  std::size_t seen = 0;
  for (const Include& include : includes_below("collectors")) {
    if (!include.system || include.file.starts_with("collectors/machine/")) continue;
    if (include.file.starts_with("collectors/level_zero/tracker/"))
      continue;  // runs in other programs, without this library
    ++seen;
    INFO(include.file << " includes <" << include.target << ">");
    CHECK_FALSE(os.contains(first_part(include.target)));
  }
  CHECK(seen > 50);
}

TEST_CASE("no collector includes another collector, only the facts that it reports") {
  for (const Include& include : includes_below("collectors/collector")) {
    if (include.system || first_part(include.target) != "collector" || include.file.ends_with("registration.cpp"))
      continue;
    const std::string own = fs::path(include.file).stem().string();
    const std::string other = fs::path(include.target).stem().string();
    INFO(include.file << " includes " << include.target);
    // engines_clients.h belongs to engines_xe.cpp: same topic. What lies in shared/ belongs to none.
    const bool shared = include.target.starts_with("collector/shared/") || other == "collector" || other == "facts";
    const bool facts = other.ends_with("_facts") && !own.ends_with("_facts");
    CHECK((shared || facts || own.substr(0, own.find('_')) == other.substr(0, other.find('_'))));
  }
}

TEST_CASE("the registry knows the interface of collectors and their common options, and no topic") {
  for (const Include& include : includes_below("collectors/run")) {
    if (include.system || first_part(include.target) != "collector") continue;
    INFO(include.file << " includes " << include.target);
    CHECK((include.target == "collector/collector.h" || include.target == "collector/shared/shared_options.h"));
  }
}

// cli/ names its files for commands and for the rooms whose flags they are, include/igpu for what the rooms implement.
TEST_CASE("no two rooms have files of one name") {
  std::map<std::string, std::set<std::string>> rooms;  // by the name of a file
  for (const char* top : {"collectors", "exporter"}) {
    for (const auto& room : fs::directory_iterator(kRoot / top)) {
      const std::string name = room.path().filename();
      if (!room.is_directory() || name == "include" || name == "tracker" || name == "cli") continue;
      for (const auto& file : fs::recursive_directory_iterator(room.path()))
        if (file.path().extension() == ".h" || file.path().extension() == ".cpp")
          rooms[file.path().stem()].insert(std::string(top) + "/" + name);
    }
  }
  CHECK(rooms.size() > 300);
  for (const auto& [file_name, file_rooms] : rooms) {
    const auto& name = file_name;  // clang 14 captures no structured binding
    const auto& where = file_rooms;
    INFO(name << " is in " << *where.begin() << " and in " << *where.rbegin());
    CHECK(where.size() == 1);
  }
}

TEST_CASE("the program sees the library through its public headers only") {
  std::size_t seen = 0;
  const std::set<std::string> private_folders = {"base",      "machine",  "device",     "source",  "metric",
                                                 "collector", "registry", "simulation", "monitor", "gpu",
                                                 "c",         "capture",  "model",      "sampling"};
  for (const Include& include : includes_below("exporter")) {
    ++seen;
    INFO(include.file << " includes " << include.target);
    CHECK_FALSE(private_folders.contains(first_part(include.target)));
  }
  CHECK(seen > 20);
}

TEST_CASE("a room of the program includes only the rooms that it may") {
  // All may include the library's public headers and platform/; cli/ puts them together.
  const Rules allowed = {{"capture_file", {"service", "text"}},
                         {"client", {"self", "service", "text"}},
                         {"flights", {"format", "self", "text", "trace"}},
                         {"format", {"text"}},
                         {"http", {"service", "text"}},
                         {"intel_gpu_top", {"text"}},
                         {"level_zero", {"service", "text"}},
                         {"pages", {"flights", "format", "http", "report", "self", "service", "text"}},
                         {"platform", {}},
                         {"push", {"client", "format", "query", "self", "service", "text"}},
                         {"query", {"format", "text"}},
                         {"report", {"format", "text"}},
                         {"sandbox", {"service", "text"}},
                         {"self", {"sandbox", "service"}},
                         {"service", {"text"}},
                         {"setup", {}},
                         {"static_file", {}},
                         {"text", {}},
                         {"top", {"client", "report", "service", "text"}},
                         {"trace", {"format", "service", "text"}},
                         {"web_config", {"http", "self", "service", "text"}},
                         {"workloads", {"service", "web_config"}}};
  check_rooms("exporter", allowed, {"cli"});
  std::size_t seen = 0;
  for (const auto& [room, others] : allowed) {
    for (const Include& include : includes_below(fs::path("exporter") / room)) {
      const std::string target = first_part(include.target);
      if (include.system || target == room || target == "igpu" || target == "platform") continue;
      ++seen;
      INFO(include.file << " includes " << include.target);
      CHECK(others.contains(target));
    }
  }
  CHECK(seen > 50);
}

TEST_CASE("only platform/ and machine/ ask which operating system it is") {
  std::size_t seen = 0;
  for (const char* const folder : {"exporter", "collectors"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      const std::string file = fs::relative(entry.path(), kRoot).string();
      const std::string extension = entry.path().extension().string();
      if (extension != ".cpp" && extension != ".h") continue;
      if (file.starts_with("exporter/platform/") || file.starts_with("collectors/machine/")) continue;
      ++seen;
      std::ifstream in(entry.path());
      const std::string text((std::istreambuf_iterator<char>(in)), {});
      INFO(file);
      for (const std::string system : {"_WIN32", "__MINGW32__", "__linux__"}) {
        for (const std::string question : {"#ifdef ", "#ifndef ", "defined(", "defined "})
          CHECK(text.find(question + system) == text.npos);
      }
    }
  }
  CHECK(seen > 300);
}

TEST_CASE("formats use no sockets, and only cli prints or reads flags") {
  for (const Include& include : includes_below("exporter")) {
    INFO(include.file << " includes " << include.target);
    if (include.file.starts_with("exporter/view/format/")) {
      CHECK(first_part(include.target) != "http");
      CHECK(include.target.find("civetweb") == std::string::npos);
      CHECK(first_part(include.target) != "sys");
    }
    if (first_part(include.target) == "CLI") CHECK(include.file.starts_with("exporter/cli/"));
    if (include.target.find("civetweb") != std::string::npos) CHECK(include.file.starts_with("exporter/server/http/"));
  }
}

TEST_CASE("http is transport: it includes no pages, formats or metrics, and pages include no sockets") {
  const std::set<std::string> http = {"http", "platform", "service", "text", "igpu"};
  const std::set<std::string> pages = {"pages",  "flights", "http",    "format", "platform",
                                       "report", "self",    "service", "text",   "igpu"};
  const std::set<std::string> http_headers_for_pages = {"http/message.h", "http/query.h"};
  std::size_t seen = 0;
  for (const Include& include : includes_below("exporter")) {
    const std::string target = first_part(include.target);
    INFO(include.file << " includes " << include.target);
    if (include.file.starts_with("exporter/server/http/") && !include.system) {
      ++seen;
      CHECK(http.contains(target));
      if (target == "igpu") CHECK((include.target == "igpu/log.h" || include.target == "igpu/unique_fd.h"));
    }
    if (include.file.starts_with("exporter/server/pages/")) {
      ++seen;
      if (include.system) {
        CHECK(target != "sys");
        CHECK(target != "unistd.h");
      } else {
        CHECK(pages.contains(target));
        if (target == "http") CHECK(http_headers_for_pages.contains(include.target));
      }
    }
  }
  CHECK(seen > 40);
}

TEST_CASE("the web configuration uses no sockets, and only it uses YAML and crypt") {
  const std::set<std::string> allowed = {"web_config", "http", "platform", "self", "service", "text", "igpu"};
  std::size_t seen = 0;
  for (const Include& include : includes_below("exporter")) {
    const bool here = include.file.starts_with("exporter/server/web_config/");
    const std::string target = first_part(include.target);
    INFO(include.file << " includes " << include.target);
    if (target == "yaml.h" || target == "crypt.h") CHECK(here);
    if (target == "openssl") CHECK((here || include.file.starts_with("exporter/server/http/")));
    if (include.file.starts_with("exporter/server/http/")) CHECK(target != "web_config");
    if (!here) continue;
    ++seen;
    if (!include.system) CHECK(allowed.contains(target));
    if (target == "http") CHECK(include.target == "http/message.h");
    CHECK(include.target != "sys/socket.h");
  }
  CHECK(seen > 20);
}

TEST_CASE("the sandbox depends on nothing, and only it makes its system calls") {
  std::size_t seen = 0;
  for (const Include& include : includes_below("exporter")) {
    INFO(include.file << " includes " << include.target);
    const bool sandbox = include.file.starts_with("exporter/server/sandbox/");
    const bool kernel = include.target == "seccomp.h" || include.target == "linux/landlock.h" ||
                        include.target == "sys/capability.h" || include.target == "sys/prctl.h";
    if (kernel) {
      ++seen;
      // Every room that opens a file for the caller lowers what is effective.
      CHECK((sandbox || include.file == "exporter/platform/callers_rights_linux.cpp"));
    }
    if (sandbox && !include.system) {
      const std::string folder = first_part(include.target);
      CHECK((folder == "sandbox" || folder == "igpu" || folder == "platform" || folder == "text"));
    }
    if (include.file.starts_with("exporter/platform/") && !include.system) {
      const std::string folder = first_part(include.target);
      CHECK((folder == "service" || folder == "igpu" || folder == "platform" || folder == "text"));
    }
  }
  CHECK(seen > 3);
}

TEST_CASE("Level Zero runs and reports know the library and no flags, pages or sockets") {
  std::size_t seen = 0;
  for (const Include& include : includes_below("exporter/level_zero")) {
    const std::string target = first_part(include.target);
    INFO(include.file << " includes " << include.target);
    if (include.system) {
      CHECK(include.target != "sys/socket.h");
      continue;
    }
    ++seen;
    CHECK((target == "level_zero" || target == "text" || include.target == "igpu/level_zero.h" ||
           include.target == "service/regular_file.h" || include.target == "service/spawn.h"));
  }
  CHECK(seen > 10);
}

TEST_CASE("the tracker includes nothing of the library, which includes only its layouts and names") {
  std::size_t seen = 0;
  for (const Include& include : includes_below("collectors")) {
    if (include.system) continue;
    INFO(include.file << " includes " << include.target);
    if (include.file.starts_with("collectors/level_zero/tracker/")) {
      ++seen;
      CHECK(first_part(include.target) == "tracker");
    } else if (first_part(include.target) == "tracker") {
      ++seen;
      const std::string header = include.target.substr(include.target.find('/') + 1);
      CHECK((header == "page_layout.h" || header == "log_layout.h" || header == "api_table.h"));
    }
  }
  CHECK(seen > 20);
}

TEST_CASE("kernel paths are written relative to a root everywhere but in machine/") {
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "collectors")) {
    const std::string name = fs::relative(entry.path(), kRoot).string();
    if (entry.path().extension() != ".cpp" || name.starts_with("collectors/machine/")) continue;
    if (name.starts_with("collectors/level_zero/tracker/")) continue;  // reads of itself only
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      const auto comment = line.find("//");
      const std::string code = line.substr(0, comment);
      INFO(name << ": " << line);
      CHECK(code.find("\"/sys/") == std::string::npos);
      CHECK(code.find("\"/proc/") == std::string::npos);
      CHECK(code.find("\"/dev/dri/r") == std::string::npos);
    }
  }
}

TEST_SUITE_END();
