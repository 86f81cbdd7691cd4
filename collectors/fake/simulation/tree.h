// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "fake/simulation/course.h"
#include "fake/simulation/simulation_script.h"
#include "machine/filesystem.h"
#include "machine/machine.h"

namespace igpu::simulation {

// The simulated machine's time: a clock, shifted so that the machine has an uptime of some hours.
class ScriptClock {
 public:
  ScriptClock(const Clock& clock, Nanoseconds uptime) : clock_(clock), shift_(uptime - clock.now()) {}
  ScriptTime now() const { return clock_.now() + shift_; }
  ScriptTime at(Nanoseconds clock_time) const { return clock_time + shift_; }

 private:
  const Clock& clock_;
  Nanoseconds shift_;
};

// Counts the reads that resume a suspended GPU.
class RuntimePower {
 public:
  explicit RuntimePower(bool suspended) : suspended_(suspended) {}
  void note_read() const {
    if (suspended_) resumes_.fetch_add(1, std::memory_order_relaxed);
  }
  std::uint64_t resumes() const { return resumes_.load(std::memory_order_relaxed); }

 private:
  const bool suspended_;
  mutable std::atomic<std::uint64_t> resumes_{0};
};

// The state that all parts of a simulated machine share. It outlives them.
struct World {
  World(MachineScript what, const Clock& clock_of_caller)
      : script(std::move(what)), caller(clock_of_caller), clock(caller, script.uptime) {
    for (const GpuScript& gpu : script.gpus) power.emplace_back(gpu.suspended);
  }
  const MachineScript script;
  const Clock& caller;
  const ScriptClock clock;
  std::deque<RuntimePower> power;  // by GPU
};

// What a file holds, written into its reader's buffer as the kernel does; of one that does not fit, its start. Not a
// stream: the benchmarks' scrapes would mostly cost what streams do.
class Text {
 public:
  explicit Text(std::span<char> buffer) : buffer_(buffer) {}

  Text& operator<<(std::string_view text) {
    used_ += text.copy(buffer_.data() + used_, buffer_.size() - used_);
    return *this;
  }
  Text& operator<<(char c) { return *this << std::string_view(&c, 1); }
  template <std::integral Integer>
  Text& operator<<(Integer number) {
    std::array<char, 24> digits;  // enough for 64 bits
    return *this << std::string_view(digits.data(),
                                     std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
  }

  std::string_view written() const { return {buffer_.data(), used_}; }

 private:
  std::span<char> buffer_;
  std::size_t used_ = 0;
};

// The text of a file at a given time.
using Render = std::function<void(Text& out, ScriptTime now)>;

// One entry of a simulated file system.
struct Node {
  enum class Kind { directory, file, link };

  Kind kind = Kind::directory;
  std::uint32_t permissions = 0555;
  std::uint32_t uid = 0;
  std::uint64_t rdev = 0;               // for a device file
  std::uint64_t inode = 0;              // unique per node
  bool device = false;                  // a character device: it can be listed and stat'ed, but not read
  int error = 0;                        // errno of every attempt to open it (a directory: also of reaching its entries)
  const RuntimePower* wakes = nullptr;  // reading it resumes this GPU
  Lifetime life;                        // the entry exists only during this time
  std::string text;                     // constant content, or the target of a link
  Render render;
  Node* parent = nullptr;
  std::map<std::string, std::unique_ptr<Node>, std::less<>> children;
};

// A file system in memory: built once, then only read, on any number of threads; time is its only input. Paths are
// relative to the root; missing parent directories are created.
class Tree {
 public:
  // reader_uid: the user who reads. Files that this user may not read fail with EACCES; uid 0 reads all.
  Tree(const ScriptClock& clock, std::uint32_t reader_uid);
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  Node& directory(std::string_view path);
  Node& file(std::string_view path, std::string text, std::uint32_t permissions = 0444);
  Node& file(std::string_view path, Render render, std::uint32_t permissions = 0444);
  Node& link(std::string_view path, std::string target);
  Node& device(std::string_view path, unsigned major, unsigned minor, std::uint32_t permissions);

  const Node& root() const { return root_; }
  const ScriptClock& clock() const { return clock_; }
  bool may_read(const Node& node) const;

 private:
  Node& child(Node& parent, std::string_view name, Node::Kind kind);
  Node& make(std::string_view path, Node::Kind kind);

  const ScriptClock& clock_;
  std::uint32_t reader_uid_;
  std::uint64_t nodes_ = 1;
  Node root_;
};

// A directory of the tree to which sysfs attributes are added: a value and a line feed each.
class Folder {
 public:
  // wakes: reading its files resumes this GPU; null: none.
  Folder(Tree& tree, std::string path, const RuntimePower* wakes = nullptr)
      : tree_(tree), path_(std::move(path)), wakes_(wakes) {}

  const std::string& path() const { return path_; }
  void file(const std::string& name, const std::string& value, std::uint32_t permissions = 0444) const {
    tree_.file(path_ + '/' + name, value + '\n', permissions).wakes = wakes_;
  }
  void number(const std::string& name, std::uint64_t value, std::uint32_t permissions = 0444) const {
    file(name, std::to_string(value), permissions);
  }
  // of(now): the number, or a text.
  template <std::invocable<ScriptTime> F>
  void value(const std::string& name, F of, std::uint32_t permissions = 0444) const {
    const Render render = [of](Text& out, ScriptTime now) { out << of(now) << '\n'; };
    tree_.file(path_ + '/' + name, render, permissions).wakes = wakes_;
  }

 private:
  Tree& tree_;
  const std::string path_;
  const RuntimePower* const wakes_;
};

// The tree, or a directory in it, as a file system of machine/. The tree must outlive it.
class TreeDirectory final : public Directory {
 public:
  explicit TreeDirectory(const Tree& tree) : TreeDirectory(tree, tree.root()) {}
  TreeDirectory(const Tree& tree, const Node& node) : tree_(&tree), node_(&node), opened_(tree.clock().now()) {}

  Reading<std::string_view> read(std::string_view path, std::span<char> buffer) const override;
  Reading<std::string_view> read_start(std::string_view path, std::span<char> buffer) const override;
  Reading<std::unique_ptr<File>> open(std::string_view path) const override;
  Reading<std::unique_ptr<Directory>> open_directory(std::string_view path) const override;
  Reading<Unit> for_each(std::string_view path, const std::function<bool(std::string_view name)>& visit) const override;
  Reading<std::string> read_link(std::string_view path) const override;
  Reading<std::string> resolve(std::string_view path) const override;
  Reading<FileFacts> stat(std::string_view path) const override;

 private:
  const Tree* tree_;
  const Node* node_;
  ScriptTime opened_;  // an entry that has ended since then is gone, even if a new instance exists
};

}  // namespace igpu::simulation
