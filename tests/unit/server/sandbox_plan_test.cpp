// SPDX-License-Identifier: Apache-2.0
#include "server/sandbox_plan.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace igpu::exporter;

namespace {

bool holds(const std::vector<std::string>& list, std::string_view what) {
  return std::find(list.begin(), list.end(), what) != list.end();
}

// Restored at the end.
class CertificateFile {
 public:
  explicit CertificateFile(const char* value) {
    if (const char* const before = std::getenv(kName)) before_ = before;
    ::setenv(kName, value, 1);
  }
  ~CertificateFile() { before_ ? ::setenv(kName, before_->c_str(), 1) : ::unsetenv(kName); }
  CertificateFile(const CertificateFile&) = delete;
  CertificateFile& operator=(const CertificateFile&) = delete;

 private:
  static constexpr const char* kName = "SSL_CERT_FILE";
  std::optional<std::string> before_;
};

}  // namespace

TEST_SUITE_BEGIN("sandbox plan");

TEST_CASE("threads that serve clients may read their own /proc, and nothing of the GPUs") {
  Options options;
  const SandboxPlan plan = sandbox_plan(options);
  CHECK(plan.reads_processes);
  CHECK(holds(plan.client_files.readable, "/proc/self"));
  for (const char* folder : {"/", "/proc", "/sys", "/dev", "/dev/dri", "/etc", "/usr/share/misc"}) {
    CAPTURE(folder);
    CHECK_FALSE(holds(plan.client_files.readable, folder));
  }
  CHECK(plan.client_files.listable.empty());
  CHECK(plan.client_files.devices.empty());
}

TEST_CASE("a resolver reads all of /etc only where resolv.conf is a file of it, which is replaced by renaming") {
  const std::vector<std::string> readable = sandbox_plan({}).resolver_files.readable;
  const std::vector<std::string> folders = folders_of("/etc/resolv.conf");
  CHECK(holds(readable, "/etc") == (folders.size() < 2));
  CHECK(holds(readable, "/etc/hosts") == (folders.size() == 2));
  CHECK(holds(readable, folders.back()));
  CHECK(holds(readable, "/run/systemd/resolve"));
}

TEST_CASE(
    "what all threads read together is more than that by what the GPUs need; processes' folders are listed only") {
  Options options;
  options.monitor.collectors = {{"fdinfo", false}, {"engines", false}, {"sriov", false}, {"npu", false}};
  const SandboxPlan plan = sandbox_plan(options);
  CHECK_FALSE(plan.reads_processes);
  for (const std::string& file : plan.client_files.readable) CHECK(holds(plan.files.readable, file));
  CHECK(holds(plan.files.readable, "/sys"));
  CHECK(holds(plan.files.devices, "/dev/dri"));
  CHECK(holds(plan.files.listable, "/proc"));
  CHECK_FALSE(holds(plan.files.readable, "/proc"));
}

TEST_CASE("the folder of the workload rules can be read again, by threads that run collectors only") {
  Options options;
  options.monitor.simulate = "rack";  // reads no other processes: files are confined
  options.monitor.collector_options = {{"workload.rules", {"/srv/exporter/rules.yml"}}};
  const SandboxPlan plan = sandbox_plan(options);
  CHECK(plan.uses.reads_files);
  CHECK(holds(plan.files.readable, "/srv/exporter"));
  CHECK_FALSE(holds(plan.client_files.readable, "/srv/exporter"));
}

TEST_CASE("the system's certificates can be read again, private keys beside them cannot") {
  Options options;
  CHECK_FALSE(holds(sandbox_plan(options).client_files.readable, "/etc/ssl/certs"));  // without TLS there are none
  options.web_config_file = "/srv/exporter/web.yml";
  const CertificateFile environment("/etc/ssl/cert.pem");
  const std::vector<std::string> readable = sandbox_plan(options).client_files.readable;
  for (const char* path : {"/srv/exporter", "/etc/ssl/certs", "/etc/pki/ca-trust/extracted/pem",
                           "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem", "/etc/ssl/openssl.cnf"}) {
    CAPTURE(path);
    CHECK(holds(readable, path));
  }
  for (const char* path : {"/", "/etc", "/etc/ssl", "/etc/ssl/private", "/etc/pki", "/etc/pki/tls",
                           "/etc/pki/tls/private", "/usr/lib/ssl"}) {
    CAPTURE(path);
    CHECK_FALSE(holds(readable, path));
  }
}

TEST_CASE("files below /proc are readable only while the collector that reads them runs") {
  Options options;
  options.monitor.procfs_root = "/host/proc";
  CHECK(holds(sandbox_plan(options).files.readable, "/host/proc/stat"));  // health, which is on by default
  options.monitor.collectors = {{"health", false}};
  CHECK_FALSE(holds(sandbox_plan(options).files.readable, "/host/proc/stat"));
  options.monitor.collectors = {{"health", false}, {"host", true}};
  CHECK(holds(sandbox_plan(options).files.readable, "/host/proc/stat"));
  CHECK_FALSE(holds(sandbox_plan(options).client_files.readable, "/host/proc/stat"));
}

TEST_CASE("collectors' own folders are readable, and only while their collector runs") {
  Options options;
  CHECK(holds(sandbox_plan(options).files.readable, "/run/intel-gpu-exporter/level-zero"));
  CHECK_FALSE(holds(sandbox_plan(options).client_files.readable, "/run/intel-gpu-exporter/level-zero"));
  options.monitor.collector_options["path.level-zero"] = {"/elsewhere"};
  CHECK(holds(sandbox_plan(options).files.readable, "/elsewhere"));
  CHECK_FALSE(holds(sandbox_plan(options).files.readable, "/"));
  CHECK_FALSE(holds(sandbox_plan(options).files.readable, "/run/intel-gpu-exporter/level-zero"));
  options.monitor.collectors = {{"level_zero", false}};
  CHECK_FALSE(holds(sandbox_plan(options).files.readable, "/elsewhere"));
}

TEST_CASE("a folder that does not exist yet is readable once it does: the nearest folder above it is allowed") {
  Options options;
  options.monitor.collector_options["path.level-zero"] = {"/usr/lib/not-there/yet"};
  CHECK(holds(sandbox_plan(options).files.readable, "/usr/lib"));
  options.monitor.collector_options["path.level-zero"] = {"/usr/lib"};
  CHECK_FALSE(holds(sandbox_plan(options).files.readable, "/usr"));
}

TEST_SUITE_END();
