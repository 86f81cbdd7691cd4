// SPDX-License-Identifier: Apache-2.0
// Prints the seccomp profile that containerd gives a container with these capabilities.
package main

import (
	"encoding/json"
	"os"

	"github.com/containerd/containerd/contrib/seccomp"
	specs "github.com/opencontainers/runtime-spec/specs-go"
)

func main() {
	spec := &specs.Spec{Process: &specs.Process{Capabilities: &specs.LinuxCapabilities{Bounding: os.Args[1:]}}}
	if err := json.NewEncoder(os.Stdout).Encode(seccomp.DefaultProfile(spec)); err != nil {
		panic(err)
	}
}
