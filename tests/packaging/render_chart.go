// SPDX-License-Identifier: Apache-2.0
// Renders a Helm chart as Helm does: text/template with sprig and Helm's own functions; JSON values on standard input.
//
//	render_chart CHART RELEASE NAMESPACE KUBERNETES_VERSION
//
// RENDER_NOTES=FILE: NOTES.txt is written there.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"sigs.k8s.io/yaml"
)

type object = map[string]interface{}

type files struct{ root string }

func (f files) Get(name string) string {
	content, err := os.ReadFile(filepath.Join(f.root, name))
	if err != nil {
		return ""
	}
	return string(content)
}

func (f files) Glob(pattern string) map[string]string {
	found := map[string]string{}
	paths, _ := filepath.Glob(filepath.Join(f.root, pattern))
	for _, path := range paths {
		name, _ := filepath.Rel(f.root, path)
		found[name] = f.Get(name)
	}
	return found
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func read(path string, into interface{}) {
	content, err := os.ReadFile(path)
	check(err)
	check(yaml.UnmarshalStrict(content, into))
}

// Values over defaults; null takes a default away.
func merged(defaults, values object) object {
	for key, value := range values {
		inner, isObject := value.(object)
		old, wasObject := defaults[key].(object)
		switch {
		case value == nil:
			delete(defaults, key)
		case isObject && wasObject:
			defaults[key] = merged(old, inner)
		default:
			defaults[key] = value
		}
	}
	return defaults
}

func functions(all *template.Template) template.FuncMap {
	list := sprig.TxtFuncMap()
	delete(list, "env")
	delete(list, "expandenv")
	list["toYaml"] = func(value interface{}) string {
		text, err := yaml.Marshal(value)
		if err != nil {
			return ""
		}
		return strings.TrimSuffix(string(text), "\n")
	}
	list["include"] = func(name string, data interface{}) (string, error) {
		var out bytes.Buffer
		err := all.ExecuteTemplate(&out, name, data)
		return out.String(), err
	}
	list["fromJson"] = func(text string) object {
		value := object{}
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			value["Error"] = err.Error()
		}
		return value
	}
	list["required"] = func(message string, value interface{}) (interface{}, error) {
		if value == nil || value == "" {
			return value, fmt.Errorf("%s", message)
		}
		return value, nil
	}
	return list
}

func main() {
	root := os.Args[1]
	chart, values, given := object{}, object{}, object{}
	read(filepath.Join(root, "Chart.yaml"), &chart)
	read(filepath.Join(root, "values.yaml"), &values)
	check(json.NewDecoder(os.Stdin).Decode(&given))
	data := object{
		"Values":       merged(values, given),
		"Chart":        object{"Name": chart["name"], "Version": chart["version"], "AppVersion": chart["appVersion"]},
		"Release":      object{"Name": os.Args[2], "Namespace": os.Args[3], "Service": "Helm"},
		"Files":        files{root},
		"Capabilities": object{"KubeVersion": object{"Version": os.Args[4]}},
	}

	all := template.New("chart").Option("missingkey=zero")
	all.Funcs(functions(all))
	paths := []string{}
	for _, pattern := range []string{"*.*", "tests/*"} {
		found, err := filepath.Glob(filepath.Join(root, "templates", pattern))
		check(err)
		paths = append(paths, found...)
	}
	sort.Strings(paths)
	for _, path := range paths {
		content, err := os.ReadFile(path)
		check(err)
		_, err = all.New(filepath.Base(path)).Parse(string(content))
		check(err)
	}
	for _, path := range paths {
		name := filepath.Base(path)
		if strings.HasPrefix(name, "_") {
			continue
		}
		var out bytes.Buffer
		check(all.ExecuteTemplate(&out, name, data))
		text := strings.TrimSpace(strings.ReplaceAll(out.String(), "<no value>", ""))
		if name == "NOTES.txt" {
			if notes := os.Getenv("RENDER_NOTES"); notes != "" {
				check(os.WriteFile(notes, []byte(text+"\n"), 0o644))
			}
		} else if text != "" {
			fmt.Printf("---\n# Source: %s\n%s\n", name, text)
		}
	}
}
