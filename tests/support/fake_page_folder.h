// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "machine/page_folder.h"

namespace igpu::test {

// Files of Level Zero programs, and who holds their locks.
struct FakePages {
  struct File {
    std::vector<std::byte> bytes;
    std::optional<std::int32_t> holder;
    std::uint32_t owner = 1000;
    std::optional<std::uint64_t> size{};  // in its facts, if it is not that of the bytes
  };
  bool exists = true;
  std::map<std::string, File> files;
  std::size_t asked = 0;  // for facts
  std::size_t opened = 0;
};

class FakePageFolder final : public PageFolder {
 public:
  explicit FakePageFolder(std::shared_ptr<FakePages> pages) : pages_(std::move(pages)) {}

  Reading<std::vector<std::string>> names() override {
    if (!pages_->exists) return Absent{Reason::kernel, ENOENT};
    std::vector<std::string> names;
    for (const auto& [name, file] : pages_->files) names.push_back(name);
    return names;
  }
  Reading<PageFacts> facts(std::string_view name) override {
    ++pages_->asked;
    const FakePages::File& file = pages_->files.at(std::string(name));
    return PageFacts{file.owner, file.size.value_or(file.bytes.size()), true};
  }
  Reading<std::unique_ptr<PageFile>> open(std::string_view name) override {
    ++pages_->opened;
    return std::unique_ptr<PageFile>(std::make_unique<FakeFile>(pages_->files.at(std::string(name))));
  }

 private:
  class FakeFile final : public PageFile {
   public:
    explicit FakeFile(const FakePages::File& file) : file_(file) {}
    std::uint64_t size() const override { return file_.bytes.size(); }
    std::uint64_t inode() const override { return 1; }
    Reading<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> buffer) override {
      const std::size_t count = std::min<std::size_t>(buffer.size(), file_.bytes.size() - offset);
      std::memcpy(buffer.data(), file_.bytes.data() + offset, count);
      return count;
    }
    Reading<std::optional<std::int32_t>> holder() override { return file_.holder; }

   private:
    const FakePages::File& file_;
  };

  std::shared_ptr<FakePages> pages_;
};

}  // namespace igpu::test
