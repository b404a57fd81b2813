package main

import (
	"os"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// await FILE waits until FILE has content. An emulated guest can take two minutes to boot (see
// bootTimes of package vm), and then measures.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: await FILE")
	}
	deadline := time.Now().Add(5 * time.Minute)
	for {
		if info, err := os.Stat(ts.MkAbs(args[0])); err == nil && info.Size() > 0 {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s did not appear", args[0])
		}
		time.Sleep(5 * time.Millisecond)
	}
}
