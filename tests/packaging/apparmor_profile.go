// SPDX-License-Identifier: Apache-2.0
// Prints the AppArmor profile that an engine makes of the template in its source:
//
//	apparmor_profile FILE NAME
package main

import (
	"log"
	"os"
	"strings"
	"text/template"
)

func main() {
	source, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	_, rest, found := strings.Cut(string(source), "Template = `")
	text, _, ended := strings.Cut(rest, "`")
	if !found || !ended {
		log.Fatalf("%s: no template", os.Args[1])
	}
	data := map[string]interface{}{
		"Name": os.Args[2], "DaemonProfile": "unconfined", "Version": 300008, // apparmor_parser 3.0.8
		"Imports":      []string{"#include <tunables/global>"},
		"InnerImports": []string{"#include <abstractions/base>"},
	}
	if err := template.Must(template.New("").Parse(text)).Execute(os.Stdout, data); err != nil {
		log.Fatal(err)
	}
}
