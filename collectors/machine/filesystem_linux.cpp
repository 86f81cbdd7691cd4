// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "igpu/unique_fd.h"
#include "machine/filesystem.h"

namespace igpu {
namespace {

// A path as C wants it, without a heap allocation.
class PathText {
 public:
  explicit PathText(std::string_view path) {
    fits_ = path.size() < text_.size() && path.find('\0') == std::string_view::npos;
    if (!fits_) path = {};
    std::copy(path.begin(), path.end(), text_.begin());
    text_[path.size()] = '\0';
  }
  bool fits() const { return fits_; }
  const char* c_str() const { return text_.data(); }

 private:
  std::array<char, 1024> text_;
  bool fits_;
};

int open_at(int directory, std::string_view path, int flags) {
  const PathText text(path);
  if (!text.fits()) {
    errno = ENAMETOOLONG;
    return -1;
  }
  int fd;
  do fd = ::openat(directory, text.c_str(), flags | O_CLOEXEC | O_NOCTTY);
  while (fd < 0 && errno == EINTR);
  return fd;
}

// A regular file at the end of folders, none of which is a link. Component by component: openat2(2) needs Linux 5.6.
int open_without_links(int directory, std::string_view path) {
  UniqueFd folder;
  for (std::size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/')) {
    UniqueFd next(open_at(directory, path.substr(0, slash), O_PATH | O_DIRECTORY | O_NOFOLLOW));
    if (!next) return -1;
    folder = std::move(next);
    directory = folder.get();
    path.remove_prefix(slash + 1);
  }
  // Opening a device can change it, so the type is checked before, and again by the caller.
  const PathText name(path);
  struct ::stat facts {};
  if (!name.fits() || ::fstatat(directory, name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) return -1;
  if (!S_ISREG(facts.st_mode)) {
    errno = ENOENT;
    return -1;
  }
  return open_at(directory, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
}

Reading<std::string_view> read_at_start(int fd, std::span<char> buffer, bool may_be_cut, std::string_view where) {
  ssize_t count;
  do count = ::pread(fd, buffer.data(), buffer.size(), 0);
  while (count < 0 && errno == EINTR);
  if (count < 0) return outcome_of_errno<std::string_view>(errno, where);
  if (static_cast<std::size_t>(count) == buffer.size() && !may_be_cut)
    return Failure{std::error_code(EFBIG, std::generic_category()), std::string(where)};
  return std::string_view(buffer.data(), static_cast<std::size_t>(count));
}

class LinuxFile final : public File {
 public:
  LinuxFile(UniqueFd fd, std::shared_ptr<const UniqueFd> directory, std::string_view path)
      : fd_(std::move(fd)), directory_(std::move(directory)), path_(path) {
    struct ::statfs system {};
    of_kernel_ =
        ::fstatfs(fd_.get(), &system) == 0 && (system.f_type == SYSFS_MAGIC || system.f_type == PROC_SUPER_MAGIC);
  }
  Reading<std::string_view> read(std::span<char> buffer) override {
    if (!of_kernel_ && !is_linked()) {
      fd_ = UniqueFd(open_at(directory_->get(), path_, O_RDONLY));
      if (!fd_) return outcome_of_errno<std::string_view>(errno, path_);
    }
    return read_at_start(fd_.get(), buffer, false, path_);
  }

 private:
  // The kernel itself reports when one of its files is gone. In a copied tree the old content of a deleted or replaced
  // file would be read forever.
  bool is_linked() const {
    struct ::stat facts {};
    return fd_ && ::fstat(fd_.get(), &facts) == 0 && facts.st_nlink > 0;
  }

  UniqueFd fd_;
  bool of_kernel_ = false;  // beside the descriptor: every read touches both, and nothing else
  std::shared_ptr<const UniqueFd> directory_;
  std::string path_;  // in it
};

// Reads the entries of an open directory with one buffer on the stack; readdir(3) would take 32 KiB of heap each time.
Reading<Unit> visit_entries(int fd, std::string_view where, const std::function<bool(std::string_view)>& visit) {
  struct Entry {
    std::uint64_t inode;
    std::int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[1];
  };
  constexpr std::size_t kNameAt = offsetof(Entry, name);
  alignas(8) std::array<char, 16384> buffer;
  for (;;) {
    const long count = ::syscall(SYS_getdents64, fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return outcome_of_errno<Unit>(errno, where);
    if (count == 0) return Unit{};
    for (std::size_t at = 0; at < static_cast<std::size_t>(count);) {
      unsigned short length;
      std::memcpy(&length, buffer.data() + at + offsetof(Entry, length), sizeof length);
      const std::string_view name(buffer.data() + at + kNameAt);
      at += length;
      if (name == "." || name == "..") continue;
      if (!visit(name)) return Unit{};
    }
  }
}

class LinuxDirectory final : public Directory {
 public:
  explicit LinuxDirectory(UniqueFd fd, std::shared_ptr<const UniqueFd> root = nullptr)
      : folder_(std::make_shared<const UniqueFd>(std::move(fd))), root_(root ? std::move(root) : folder_) {}

  Reading<std::string_view> read(std::string_view path, std::span<char> buffer) const override {
    return read_file(path, buffer, false);
  }
  Reading<std::string_view> read_start(std::string_view path, std::span<char> buffer) const override {
    return read_file(path, buffer, true);
  }
  Reading<std::string_view> read_owned(std::string_view path, std::uint32_t owner,
                                       std::span<char> buffer) const override {
    const UniqueFd fd(open_without_links(folder_->get(), path));
    struct ::stat facts {};
    if (!fd || ::fstat(fd.get(), &facts) != 0) return outcome_of_errno<std::string_view>(errno, path);
    if (!S_ISREG(facts.st_mode) || facts.st_uid != owner) return Absent{Reason::kernel, ENOENT};
    return read_at_start(fd.get(), buffer, false, path);
  }
  Reading<std::unique_ptr<File>> open(std::string_view path) const override {
    UniqueFd fd(open_at(folder_->get(), path, O_RDONLY));
    if (!fd) return outcome_of_errno<std::unique_ptr<File>>(errno, path);
    return std::unique_ptr<File>(std::make_unique<LinuxFile>(std::move(fd), folder_, path));
  }
  Reading<std::unique_ptr<Directory>> open_directory(std::string_view path) const override {
    UniqueFd fd(open_at(folder_->get(), path, O_RDONLY | O_DIRECTORY));
    if (!fd) return outcome_of_errno<std::unique_ptr<Directory>>(errno, path);
    return std::unique_ptr<Directory>(std::make_unique<LinuxDirectory>(std::move(fd), root_));
  }
  Reading<Unit> for_each(std::string_view path, const std::function<bool(std::string_view)>& visit) const override {
    // A new descriptor each time: copies of a directory's descriptor share its read position.
    const UniqueFd fd(open_at(folder_->get(), path, O_RDONLY | O_DIRECTORY));
    if (!fd) return outcome_of_errno<Unit>(errno, path);
    return visit_entries(fd.get(), path, visit);
  }
  Reading<std::string> read_link(std::string_view path) const override {
    const PathText text(path);
    std::array<char, PATH_MAX> target;
    const ssize_t count = text.fits() ? ::readlinkat(folder_->get(), text.c_str(), target.data(), target.size()) : -1;
    if (count < 0) {
      if (!text.fits()) errno = ENAMETOOLONG;
      if (errno == EINVAL) return Absent{Reason::kernel, EINVAL};  // exists, but is not a link
      return outcome_of_errno<std::string>(errno, path);
    }
    return std::string(target.data(), static_cast<std::size_t>(count));
  }
  Reading<std::string> resolve(std::string_view path) const override {
    const UniqueFd fd(open_at(folder_->get(), path, O_PATH));
    if (!fd) return outcome_of_errno<std::string>(errno, path);
    // Not kept: the process that opens perf events may not ask for it, and never calls this.
    const std::string root = path_of(root_->get());
    const std::string real = path_of(fd.get());
    if (root.empty() || real.empty()) return Absent{Reason::kernel, ENOENT};
    if (root == "/" && real.starts_with('/')) return real.substr(1);
    if (real == root) return std::string(".");
    if (real.size() > root.size() && real.starts_with(root) && real[root.size()] == '/')
      return real.substr(root.size() + 1);
    return Absent{Reason::kernel, ENOENT};  // it leads out of the tree
  }
  Reading<FileFacts> stat(std::string_view path) const override {
    const PathText text(path);
    struct ::stat facts {};
    if (!text.fits() || ::fstatat(folder_->get(), text.c_str(), &facts, 0) != 0)
      return outcome_of_errno<FileFacts>(text.fits() ? errno : ENAMETOOLONG, path);
    return FileFacts{facts.st_mode,
                     facts.st_uid,
                     facts.st_rdev,
                     facts.st_ino,
                     static_cast<std::uint64_t>(facts.st_size),
                     std::chrono::seconds(facts.st_mtim.tv_sec) + Nanoseconds(facts.st_mtim.tv_nsec)};
  }

 private:
  static std::string path_of(int fd) {
    std::array<char, PATH_MAX> target;
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    const ssize_t count = ::readlink(link.c_str(), target.data(), target.size());
    return count < 0 ? std::string() : std::string(target.data(), static_cast<std::size_t>(count));
  }
  Reading<std::string_view> read_file(std::string_view path, std::span<char> buffer, bool may_be_cut) const {
    const UniqueFd fd(open_at(folder_->get(), path, O_RDONLY));
    if (!fd) return outcome_of_errno<std::string_view>(errno, path);
    return read_at_start(fd.get(), buffer, may_be_cut, path);
  }

  std::shared_ptr<const UniqueFd> folder_;
  std::shared_ptr<const UniqueFd> root_;  // the file system's root, for resolve()
};

}  // namespace

// As a place to open files from, not to list: that needs no permission to read the root itself, which the sandbox does
// not give to every thread.
std::unique_ptr<Directory> open_root(const std::string& root) {
  UniqueFd fd(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) throw std::system_error(errno, std::generic_category(), root);
  return std::make_unique<LinuxDirectory>(std::move(fd));
}

}  // namespace igpu
