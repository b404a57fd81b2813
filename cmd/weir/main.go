// Weir measures what a container network costs, explains why, and shows the evidence.
package main

import (
	"os"
	"runtime"

	"github.com/weir-bench/weir/internal/cli"
)

// version is set by the linker (see the Makefile).
var version = "devel"

// The main thread must never enter a namespace: the runtime cannot discard it (see package netns),
// and the signals that end children with their parent depend on it (see package rootless).
func init() { runtime.LockOSThread() }

func main() { os.Exit(cli.Main(version, os.Args[1:])) }
