package facts

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"time"
)

// A ToolInfo is a program that weir can use and where it comes from.
type ToolInfo struct {
	Program string
	Package string   // of Debian and Ubuntu
	Version []string // arguments that make it print its version
}

// Tools lists the programs that probes use, sorted.
func Tools() []ToolInfo {
	return []ToolInfo{
		{"iperf3", "iperf3", []string{"--version"}},
	}
}

var versionText = regexp.MustCompile(`\d+(\.\d+)+[\w.+~-]*`)

// Tool finds a program and asks for its version. The error of one that is
// missing names the package to install.
func Tool(ctx context.Context, name string) (path, version string, err error) {
	info := ToolInfo{Program: name, Package: name, Version: []string{"--version"}}
	for _, t := range Tools() {
		if t.Program == name {
			info = t
		}
	}
	path, err = exec.LookPath(name)
	if err != nil {
		return "", "", fmt.Errorf("%s: not found: install the package %s (Debian, Ubuntu)", name, info.Package)
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, info.Version...).CombinedOutput()
	v := versionText.FindString(string(out))
	if v == "" {
		return path, "", fmt.Errorf("%s %v: printed no version: %.100q (%w)", path, info.Version, out, orNone(err))
	}
	return path, v, nil
}

func orNone(err error) error {
	if err == nil {
		return fmt.Errorf("exit status 0")
	}
	return err
}
