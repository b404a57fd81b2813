package archtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every module that go.mod requires directly has a reason in docs/adr/0013, and nothing else has one.
func TestDependencies(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	var direct []string
	indirect := 0
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) v\S+( // indirect)?$`).FindAllStringSubmatch(string(b), -1) {
		if m[2] != "" {
			indirect++
			continue
		}
		short := strings.TrimPrefix(m[1], "github.com/")
		direct = append(direct, regexp.MustCompile(`/v\d+$`).ReplaceAllString(short, ""))
	}
	if b, err = os.ReadFile(filepath.Join(root, "docs/adr/0013-dependencies.md")); err != nil {
		t.Fatal(err)
	}
	var reasoned []string
	for _, m := range regexp.MustCompile(`(?m)^\| ([\w./, -]+) \|`).FindAllStringSubmatch(string(b), -1) {
		if m[1] != "module" {
			reasoned = append(reasoned, strings.Split(m[1], ", ")...)
		}
	}
	for _, m := range direct {
		if !slices.Contains(reasoned, m) {
			t.Errorf("docs/adr/0013-dependencies.md gives no reason for %s", m)
		}
	}
	for _, m := range reasoned {
		if !slices.Contains(direct, m) {
			t.Errorf("docs/adr/0013-dependencies.md has %s, which go.mod does not require", m)
		}
	}
	if want := fmt.Sprintf("go.mod requires %d modules directly and %d through them.", len(direct), indirect); !strings.Contains(string(b), want) {
		t.Errorf("docs/adr/0013-dependencies.md lacks %q", want)
	}
}

// licenses have a sentence by which to know them.
var licenses = map[string]string{
	"Apache-2.0": "Apache License Version 2.0",
	"BSD":        "Redistribution and use in source and binary forms",
	"ISC":        "Permission to use, copy, modify, and/or distribute this software for any purpose",
	"MIT":        "Permission is hereby granted, free of charge, to any person obtaining a copy of this software",
}

// Each module in a released program has a license under which it can be part of it.
func TestLicenses(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Dir}}{{end}}{{end}}", "./cmd/weir")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "GOOS=linux", "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := slices.Compact(slices.Sorted(strings.Lines(string(out))))
	for _, line := range modules {
		module, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		files, err := filepath.Glob(filepath.Join(dir, "[Ll][Ii][Cc][Ee][Nn][CcSs][Ee]*"))
		if err != nil {
			t.Fatal(err)
		}
		known := false
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text := strings.Join(strings.Fields(string(b)), " ")
			for _, phrase := range licenses {
				known = known || strings.Contains(text, phrase)
			}
		}
		if !known {
			t.Errorf("%s: no license that is known in %s: read it, and add it to licenses if programs can contain the module", module, dir)
		}
	}
	if len(modules) < 10 {
		t.Errorf("only %d modules", len(modules))
	}
}
