package kube

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/weir-bench/weir/internal/target/kube/fakekube"
	"github.com/weir-bench/weir/internal/target/remote"
)

// The test binary stands in for kubectl and for weir in pods.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "kubectl":
		os.Exit(fakekube.Main(os.Args[1:]))
	case "weir":
		os.Exit(weir(os.Args[1:]))
	}
	os.Exit(m.Run())
}

func weir(args []string) int {
	if args[0] != "agent" {
		return 0 // --version
	}
	remove := ""
	if len(args) > 2 {
		remove = args[2]
	}
	if err := remote.Serve(os.Stdin, os.Stdout, remove); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
