// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

namespace igpu::exporter {

struct Options;

// `serve` starts in five stages, whose order is security (docs/sandbox.md). Each takes what the one before returns, so
// that a wrong order does not compile (tests/contract/must_not_compile.py). The end of one ends those before it.
struct StartedHelpers;  // other processes; no key has been read, and no thread exists
struct ReadSecrets;     // sockets, the web configuration with its keys, credentials
struct OpenedEarly;     // what needs rights that are dropped next
struct Confined;        // collectors' threads exist, and each layer of the sandbox is on

template <class Stage>
struct EndStage {
  void operator()(Stage* stage) const;
};
template <class Stage>
using Passed = std::unique_ptr<Stage, EndStage<Stage>>;

Passed<StartedHelpers> start_helpers(const Options& options);
Passed<ReadSecrets> read_secrets(Passed<StartedHelpers> helpers);
Passed<OpenedEarly> open_with_privileges(Passed<ReadSecrets> secrets);
Passed<Confined> confine(Passed<OpenedEarly> opened);
int serve_clients(Passed<Confined> confined);  // until a signal ends the program

}  // namespace igpu::exporter
