// SPDX-License-Identifier: Apache-2.0
#include "capture_file/capture_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <stdexcept>
#include <system_error>

#include "capture_file/archive.h"
#include "service/descriptor.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 20;

[[noreturn]] void fail(const std::string& path, const std::string& reason) {
  throw std::runtime_error(path + ": " + reason);
}
[[noreturn]] void fail(const std::string& path, int error) { fail(path, std::generic_category().message(error)); }

// Only a regular file: reading another kind may never end, or may block.
std::string read_regular_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) fail(path, errno);
  struct stat facts {};
  if (::fstat(file.get(), &facts) != 0) fail(path, errno);
  if (!S_ISREG(facts.st_mode)) fail(path, "it is not a regular file");
  std::string bytes;
  for (;;) {
    const std::size_t had = bytes.size();
    if (had > kMostBytes) fail(path, "it is larger than a capture");
    bytes.resize(had + 65536);
    const ssize_t size = ::read(file.get(), bytes.data() + had, bytes.size() - had);
    if (size < 0 && errno != EINTR) fail(path, errno);
    bytes.resize(had + (size > 0 ? static_cast<std::size_t>(size) : 0));
    if (size == 0) return bytes;
  }
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// A signal that ends the program waits meanwhile, so that the temporary file is removed.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t signals;
    ::sigemptyset(&signals);
    for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) ::sigaddset(&signals, number);
    ::pthread_sigmask(SIG_BLOCK, &signals, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

// Removed again unless it gets its name.
class NewFile {
 public:
  explicit NewFile(const std::string& path) : path_(path), temporary_(folder_of(path) + "/.capture-XXXXXX") {
    file_ = Descriptor(::mkostemp(temporary_.data(), O_CLOEXEC));  // mode 0600
    if (file_.get() < 0) fail(path, errno);
  }
  ~NewFile() {
    if (!temporary_.empty()) (void)::unlink(temporary_.c_str());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t size = ::write(file_.get(), bytes.data(), bytes.size());
      if (size < 0 && errno != EINTR) fail(path_, errno);
      if (size > 0) bytes.remove_prefix(static_cast<std::size_t>(size));
    }
    if (::fsync(file_.get()) != 0) fail(path_, errno);
  }

  void name() {
    int result = ::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE);
    // Some file systems have no such flag.
    if (result != 0 && errno == EINVAL) {
      if (::access(path_.c_str(), F_OK) == 0) fail(path_, EEXIST);
      result = ::rename(temporary_.c_str(), path_.c_str());
    }
    if (result != 0) fail(path_, errno);
    temporary_.clear();
  }

 private:
  std::string path_, temporary_;
  Descriptor file_;
};

}  // namespace

std::shared_ptr<const CaptureFiles> load_capture(const std::string& path) {
  const std::string bytes = read_regular_file(path);
  try {
    auto files = std::make_shared<CaptureFiles>(read_archive(bytes));
    check_capture(*files);
    return files;
  } catch (const ArchiveError& error) {
    fail(path, error.what());
  } catch (const CaptureError& error) {
    fail(path, error.what());
  }
}

void check_destination(const std::string& path) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) == 0) fail(path, EEXIST);
  if (errno != ENOENT) fail(path, errno);
  if (::access(folder_of(path).c_str(), W_OK | X_OK) != 0) fail(path, errno);
}

void save_capture(const std::string& path, const CaptureFiles& files) {
  const std::string bytes = write_archive(files);
  const SignalsBlocked blocked;
  NewFile file(path);
  file.write(bytes);
  file.name();
}

}  // namespace igpu::exporter
