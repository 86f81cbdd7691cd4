// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "igpu/unique_fd.h"
#include "machine/filesystem.h"
#include "machine/page_folder.h"

namespace igpu {
namespace {

class LinuxPageFile final : public PageFile {
 public:
  LinuxPageFile(UniqueFd fd, const struct ::stat& status, std::string_view name)
      : fd_(std::move(fd)), status_(status), name_(name) {}

  std::uint64_t size() const override { return static_cast<std::uint64_t>(status_.st_size); }
  std::uint64_t inode() const override { return status_.st_ino; }

  Reading<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> buffer) override {
    std::size_t done = 0;
    while (done < buffer.size()) {
      const ssize_t count =
          ::pread(fd_.get(), buffer.data() + done, buffer.size() - done, static_cast<off_t>(offset + done));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return outcome_of_errno<std::size_t>(errno, name_);
      if (count == 0) break;
      done += static_cast<std::size_t>(count);
    }
    return done;
  }

  Reading<std::optional<std::int32_t>> holder() override {
    struct ::flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_len = 1;
    if (::fcntl(fd_.get(), F_GETLK, &lock) != 0) return outcome_of_errno<std::optional<std::int32_t>>(errno, name_);
    if (lock.l_type == F_UNLCK) return std::optional<std::int32_t>{};
    return std::optional<std::int32_t>{lock.l_pid};
  }

 private:
  UniqueFd fd_;
  struct ::stat status_;
  std::string name_;
};

class LinuxPageFolder final : public PageFolder {
 public:
  explicit LinuxPageFolder(std::string path) : path_(std::move(path)) {}

  Reading<std::vector<std::string>> names() override {
    folder_.reset(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder_) return outcome_of_errno<std::vector<std::string>>(errno, path_);
    UniqueFd listed(::openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    DIR* const directory = listed ? ::fdopendir(listed.get()) : nullptr;
    if (directory == nullptr) return outcome_of_errno<std::vector<std::string>>(errno, path_);
    (void)listed.release();  // closedir() closes it
    const std::unique_ptr<DIR, int (*)(DIR*)> close_it(directory, &::closedir);
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = ::readdir(directory)) names.emplace_back(entry->d_name);
    if (errno != 0) return outcome_of_errno<std::vector<std::string>>(errno, path_);
    return names;
  }

  Reading<PageFacts> facts(std::string_view name) override {
    const std::string text(name);
    struct ::stat status {};
    if (::fstatat(folder_.get(), text.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
      return outcome_of_errno<PageFacts>(errno, text);
    return PageFacts{status.st_uid, static_cast<std::uint64_t>(status.st_size), S_ISREG(status.st_mode)};
  }

  Reading<std::unique_ptr<PageFile>> open(std::string_view name) override {
    const std::string text(name);
    // Without O_NONBLOCK the open of a FIFO would wait for a writer.
    UniqueFd fd(::openat(folder_.get(), text.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!fd && errno == ELOOP) return Failure{std::error_code(EINVAL, std::generic_category()), text};
    if (!fd) return outcome_of_errno<std::unique_ptr<PageFile>>(errno, text);
    struct ::stat status {};
    if (::fstat(fd.get(), &status) != 0) return outcome_of_errno<std::unique_ptr<PageFile>>(errno, text);
    if (!S_ISREG(status.st_mode)) return Failure{std::error_code(EINVAL, std::generic_category()), text};
    return std::unique_ptr<PageFile>(std::make_unique<LinuxPageFile>(std::move(fd), status, text));
  }

 private:
  std::string path_;
  UniqueFd folder_;
};

}  // namespace

std::unique_ptr<PageFolder> open_page_folder(std::string path) {
  return std::make_unique<LinuxPageFolder>(std::move(path));
}

}  // namespace igpu
