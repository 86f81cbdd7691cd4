// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "support/forwarding_directory.h"

namespace igpu::test {

// A directory whose files can be made to fail or to be denied, also those already open: what sysfs does and
// files on a disk do not.
class FaultyDirectory final : public ForwardingDirectory {
 public:
  explicit FaultyDirectory(std::unique_ptr<Directory> real)
      : ForwardingDirectory(std::move(real)), faults_(std::make_shared<Faults>()) {}

  // Every file whose path ends in this answers the errno: when it is read, or already when it is opened.
  void fail_reading(const std::string& ending, int error) { faults_->reading[ending] = error; }
  void refuse_opening(const std::string& ending, int error) { faults_->opening[ending] = error; }
  void heal() { *faults_ = {}; }
  int opens() const { return faults_->opens; }
  int reads() const { return faults_->reads; }

  Reading<std::string_view> read(std::string_view path, std::span<char> buffer) const override {
    if (const int error = find(faults_->opening, path)) return outcome_of_errno<std::string_view>(error, path);
    if (const int error = find(faults_->reading, path)) return outcome_of_errno<std::string_view>(error, path);
    return inner().read(path, buffer);
  }
  Reading<std::string_view> read_start(std::string_view path, std::span<char> buffer) const override {
    if (const int error = find(faults_->opening, path)) return outcome_of_errno<std::string_view>(error, path);
    if (const int error = find(faults_->reading, path)) return outcome_of_errno<std::string_view>(error, path);
    return inner().read_start(path, buffer);
  }
  Reading<std::unique_ptr<File>> open(std::string_view path) const override {
    if (const int error = find(faults_->opening, path)) return outcome_of_errno<std::unique_ptr<File>>(error, path);
    auto file = inner().open(path);
    if (!file) return file;
    ++faults_->opens;
    return std::unique_ptr<File>(std::make_unique<FaultyFile>(*std::move(file), std::string(path), faults_));
  }

 private:
  using ErrorByEnding = std::map<std::string, int>;
  struct Faults {
    ErrorByEnding reading, opening;
    int opens = 0;
    int reads = 0;
  };
  static int find(const ErrorByEnding& errors, std::string_view path) {
    for (const auto& [ending, error] : errors)
      if (path.ends_with(ending)) return error;
    return 0;
  }

  class FaultyFile final : public File {
   public:
    FaultyFile(std::unique_ptr<File> real, std::string path, std::shared_ptr<Faults> faults)
        : real_(std::move(real)), path_(std::move(path)), faults_(std::move(faults)) {}
    Reading<std::string_view> read(std::span<char> buffer) override {
      ++faults_->reads;
      if (const int error = find(faults_->reading, path_)) return outcome_of_errno<std::string_view>(error, path_);
      return real_->read(buffer);
    }

   private:
    std::unique_ptr<File> real_;
    std::string path_;
    std::shared_ptr<Faults> faults_;
  };

  std::shared_ptr<Faults> faults_;
};

}  // namespace igpu::test
