// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "fake/capture/answers.h"
#include "machine/machine.h"

namespace igpu::capture {

// Where the answers of an AskedMachine come from. Any thread.
class AnswerSource {
 public:
  virtual ~AnswerSource() = default;
  // nullopt: the question was not asked.
  virtual std::optional<Answer> find(const std::string& key) = 0;
  // machine: gets the answer from the recorded machine; never called on replay.
  virtual Answer ask(const std::string& key, const std::function<Answer()>& machine) = 0;
  // Records an answer of the machine and returns the answer that counts in this pass. Never called on replay.
  virtual Answer keep(const std::string& key, Answer answer) = 0;
  virtual Nanoseconds now() = 0;
};

// A machine that answers from an AnswerSource: it records the answers of another machine, or replays them without one.
// Either way, a question that is repeated within a pass gets the same answer. The host's file system, the pages of the
// Level Zero tracker and the kernel's messages are not recorded: the first two are not available, and there are no
// messages.
class AskedMachine {
 public:
  // recorded: null on replay. Both must outlive it.
  AskedMachine(AnswerSource& source, Machine* recorded);
  ~AskedMachine();
  AskedMachine(const AskedMachine&) = delete;
  AskedMachine& operator=(const AskedMachine&) = delete;

  Machine& machine();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace igpu::capture
