// SPDX-License-Identifier: Apache-2.0
#include "support/fault_injector.h"

#include <algorithm>
#include <cerrno>
#include <limits>

namespace igpu::test {
namespace {

constexpr std::string_view kGarbage = "\xff\xfe%n 0x7fffffffffffffffffff -1e999\n\x01;=\"\\";

int errno_of(Fault fault) {
  switch (fault) {
    case Fault::eio: return EIO;
    case Fault::enodev: return ENODEV;
    case Fault::eacces: return EACCES;
    case Fault::enoent: return ENOENT;
    case Fault::eintr: return EINTR;
    default: return 0;
  }
}

// What a read with this fault returns. huge: more than fits is an error, or truncated where that is allowed.
Reading<std::string_view> spoiled(Reading<std::string_view> text, std::span<char> buffer, Fault fault, bool may_cut,
                                  std::string_view path) {
  if (const int error = errno_of(fault)) return outcome_of_errno<std::string_view>(error, path);
  switch (fault) {
    case Fault::short_read: return text ? Reading<std::string_view>(text->substr(0, text->size() / 2)) : text;
    case Fault::empty: return std::string_view();
    case Fault::garbage: {
      const std::size_t size = std::min(kGarbage.size(), buffer.size());
      std::copy_n(kGarbage.begin(), size, buffer.begin());
      return std::string_view(buffer.data(), size);
    }
    case Fault::huge:
      if (!may_cut) return outcome_of_errno<std::string_view>(EFBIG, path);
      std::fill(buffer.begin(), buffer.end(), '7');
      return std::string_view(buffer.data(), buffer.size());
    default: return text;
  }
}

class FaultyFile final : public File {
 public:
  FaultyFile(std::unique_ptr<File> real, std::string path, FaultInjector& injector)
      : real_(std::move(real)), path_(std::move(path)), injector_(injector) {}
  Reading<std::string_view> read(std::span<char> buffer) override {
    const auto fault = injector_.happens("read", path_);
    auto text = real_->read(buffer);
    return fault ? spoiled(text, buffer, *fault, false, path_) : text;
  }

 private:
  std::unique_ptr<File> real_;
  std::string path_;
  FaultInjector& injector_;
};

class FaultyFolder final : public Directory {
 public:
  FaultyFolder(const Directory& real, std::string name, FaultInjector& injector)
      : real_(&real), name_(std::move(name)), injector_(injector) {}
  FaultyFolder(std::unique_ptr<Directory> real, std::string name, FaultInjector& injector)
      : owned_(std::move(real)), real_(owned_.get()), name_(std::move(name)), injector_(injector) {}

  Reading<std::string_view> read(std::string_view path, std::span<char> buffer) const override {
    const auto fault = injector_.happens("read", full(path));
    auto text = real_->read(path, buffer);
    return fault ? spoiled(text, buffer, *fault, false, path) : text;
  }
  Reading<std::string_view> read_start(std::string_view path, std::span<char> buffer) const override {
    const auto fault = injector_.happens("read", full(path));
    auto text = real_->read_start(path, buffer);
    return fault ? spoiled(text, buffer, *fault, true, path) : text;
  }
  Reading<std::unique_ptr<File>> open(std::string_view path) const override {
    if (const auto fault = injector_.happens("open", full(path)); fault && errno_of(*fault) != 0) {
      return outcome_of_errno<std::unique_ptr<File>>(errno_of(*fault), path);
    }
    auto file = real_->open(path);
    if (!file) return file;
    return std::unique_ptr<File>(std::make_unique<FaultyFile>(*std::move(file), full(path), injector_));
  }
  Reading<std::unique_ptr<Directory>> open_directory(std::string_view path) const override {
    if (const auto fault = injector_.happens("open", full(path)); fault && errno_of(*fault) != 0) {
      return outcome_of_errno<std::unique_ptr<Directory>>(errno_of(*fault), path);
    }
    auto folder = real_->open_directory(path);
    if (!folder) return folder;
    return std::unique_ptr<Directory>(std::make_unique<FaultyFolder>(*std::move(folder), full(path), injector_));
  }
  Reading<Unit> for_each(std::string_view path, const std::function<bool(std::string_view)>& visit) const override {
    const auto fault = injector_.happens("list", full(path));
    if (!fault) return real_->for_each(path, visit);
    if (const int error = errno_of(*fault)) return outcome_of_errno<Unit>(error, path);
    switch (*fault) {
      case Fault::short_read: {
        bool odd = false;
        return real_->for_each(path, [&](std::string_view name) { return (odd = !odd) ? visit(name) : true; });
      }
      case Fault::empty: return Unit{};
      case Fault::garbage:
        (void)(visit(kGarbage) && visit("") && visit("..") && visit("99999999999999999999"));
        return Unit{};
      case Fault::huge:
        for (int i = 0; i < 5000; ++i)
          if (!visit("x" + std::to_string(i))) break;
        return Unit{};
      default: return real_->for_each(path, visit);
    }
  }
  Reading<std::string> read_link(std::string_view path) const override {
    return spoiled_text("readlink", path, real_->read_link(path));
  }
  Reading<std::string> resolve(std::string_view path) const override {
    return spoiled_text("resolve", path, real_->resolve(path));
  }
  Reading<FileFacts> stat(std::string_view path) const override {
    const auto fault = injector_.happens("stat", full(path));
    if (fault && errno_of(*fault) != 0) return outcome_of_errno<FileFacts>(errno_of(*fault), path);
    return real_->stat(path);
  }

 private:
  // A process of the simulated machine is like every other: one is enough.
  std::string full(std::string_view path) const { return name_ + "/" + std::string(path); }

  Reading<std::string> spoiled_text(std::string_view what, std::string_view path, Reading<std::string> text) const {
    const auto fault = injector_.happens(what, full(path));
    if (!fault) return text;
    if (const int error = errno_of(*fault)) return outcome_of_errno<std::string>(error, path);
    switch (*fault) {
      case Fault::short_read: return text ? Reading<std::string>(text->substr(0, text->size() / 2)) : text;
      case Fault::empty: return std::string();
      case Fault::garbage: return std::string(kGarbage);
      case Fault::huge: return std::string(4095, 'x');
      default: return text;
    }
  }

  std::unique_ptr<Directory> owned_;
  const Directory* real_;
  std::string name_;
  FaultInjector& injector_;
};

class FaultyPerf final : public PerfEvents {
 public:
  FaultyPerf(PerfEvents& real, FaultInjector& injector) : real_(real), injector_(injector) {}

  Reading<std::unique_ptr<PerfEvent>> open(const PerfEventConfig& event, int cpu, PerfEvent* leader) override {
    const std::string name = "pmu " + std::to_string(event.type) + " event " + std::to_string(event.config);
    if (const auto fault = injector_.happens("perf_event_open", name); fault && errno_of(*fault) != 0) {
      return outcome_of_errno<std::unique_ptr<PerfEvent>>(errno_of(*fault), name);
    }
    auto opened = real_.open(event, cpu, leader == nullptr ? nullptr : static_cast<Event*>(leader)->real_.get());
    if (!opened) return opened;
    return std::unique_ptr<PerfEvent>(std::make_unique<Event>(*std::move(opened), name, injector_));
  }

 private:
  struct Event final : PerfEvent {
    Event(std::unique_ptr<PerfEvent> real, std::string name, FaultInjector& injector)
        : real_(std::move(real)), name_(std::move(name)), injector_(injector) {}
    Reading<std::span<const std::uint64_t>> read(std::span<std::uint64_t> words) override {
      const auto fault = injector_.happens("read", name_);
      auto got = real_->read(words);
      if (!fault || !got) return got;
      if (const int error = errno_of(*fault)) return outcome_of_errno<std::span<const std::uint64_t>>(error, name_);
      switch (*fault) {
        case Fault::short_read: return got->first(got->size() / 2);
        case Fault::empty: return got->first(0);
        case Fault::garbage:
          for (std::uint64_t& word : words) word = 0xdeadbeefdeadbeefULL;
          return got;
        case Fault::huge:
          for (std::uint64_t& word : words) word = std::numeric_limits<std::uint64_t>::max();
          return std::span<const std::uint64_t>(words);
        default: return got;
      }
    }
    std::unique_ptr<PerfEvent> real_;
    std::string name_;
    FaultInjector& injector_;
  };

  PerfEvents& real_;
  FaultInjector& injector_;
};

class FaultyNodes final : public DrmNodes {
 public:
  FaultyNodes(DrmNodes& real, FaultInjector& injector) : real_(real), injector_(injector) {}
  Reading<std::unique_ptr<DrmNode>> open(std::string_view name) override {
    if (const auto fault = injector_.happens("open", "dev/dri/" + std::string(name)); fault && errno_of(*fault) != 0) {
      return outcome_of_errno<std::unique_ptr<DrmNode>>(errno_of(*fault), name);
    }
    auto node = real_.open(name);
    if (!node) return node;
    return std::unique_ptr<DrmNode>(std::make_unique<Node>(*std::move(node), std::string(name), injector_));
  }

 private:
  struct Node final : DrmNode {
    Node(std::unique_ptr<DrmNode> real, std::string name, FaultInjector& injector)
        : real_(std::move(real)), name_(std::move(name)), injector_(injector) {}
    Reading<Unit> ioctl(unsigned long request, void* argument) override {
      const auto fault = injector_.happens("ioctl", "dev/dri/" + name_);
      if (fault && errno_of(*fault) != 0) return outcome_of_errno<Unit>(errno_of(*fault), name_);
      return real_->ioctl(request, argument);
    }
    std::unique_ptr<DrmNode> real_;
    std::string name_;
    FaultInjector& injector_;
  };
  DrmNodes& real_;
  FaultInjector& injector_;
};

class Parts final : public MachineParts {
 public:
  Parts(Machine machine, FaultInjector& injector)
      : sys_(machine.sys, "sys", injector),
        proc_(machine.proc, "proc", injector),
        dev_(machine.dev, "dev", injector),
        perf_(machine.perf, injector),
        drm_(machine.drm, injector),
        machine_{sys_, proc_, dev_, perf_, drm_, machine.clock, machine.privileges, machine.names} {}
  Machine& machine() override { return machine_; }

 private:
  FaultyFolder sys_, proc_, dev_;
  FaultyPerf perf_;
  FaultyNodes drm_;
  Machine machine_;
};

}  // namespace

std::string_view name_of(Fault fault) {
  switch (fault) {
    case Fault::eio: return "EIO";
    case Fault::enodev: return "ENODEV";
    case Fault::eacces: return "EACCES";
    case Fault::enoent: return "ENOENT";
    case Fault::eintr: return "EINTR";
    case Fault::short_read: return "short read";
    case Fault::empty: return "empty";
    case Fault::garbage: return "garbage";
    case Fault::huge: return "10 MB";
    case Fault::blocks: return "blocks";
  }
  return "";
}

std::optional<Fault> FaultInjector::happens(std::string_view what, std::string_view where) {
  const Operation operation = std::string(what) + " " + std::string(where);
  std::unique_lock lock(mutex_);
  if (recorded_ && std::find(recorded_->begin(), recorded_->end(), operation) == recorded_->end()) {
    recorded_->push_back(operation);
  }
  if (!armed_ || armed_->operation != operation) return std::nullopt;
  const Fault fault = armed_->fault;
  armed_.reset();
  hit_ = true;
  if (fault != Fault::blocks) return fault;
  ++blocked_;
  changed_.wait(lock, [this] { return released_; });
  --blocked_;
  changed_.notify_all();
  return std::nullopt;
}

std::shared_ptr<MachineParts> faulty_machine(Machine machine, FaultInjector& injector) {
  return std::make_shared<Parts>(machine, injector);
}

}  // namespace igpu::test
