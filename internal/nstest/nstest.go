// Package nstest runs a package's tests inside fresh namespaces, where they build networks without
// privilege, and fails them when they leave something behind. Only tests may import it.
package nstest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/rootless"
)

// Tests in namespaces need what package netns requires of package main.
func init() { runtime.LockOSThread() }

const exitLeak = 99

var forbidden error

// Main is the body of a TestMain. A process started under the name weir runs the function weir
// instead of the tests: in a lab the test binary stands in for weir.
func Main(m *testing.M, weir func(args []string) int) {
	if weir != nil && filepath.Base(os.Args[0]) == "weir" {
		os.Exit(weir(os.Args[1:]))
	}
	if slices.Contains(os.Args, "-test.fuzzworker") { // it uses inherited descriptors
		forbidden = errors.New("a fuzz worker stays in the namespaces of its parent")
		os.Exit(m.Run())
	}
	if !rootless.Inside() {
		code, err := rootless.Reexec(context.Background())
		if err == nil {
			os.Exit(code)
		}
		forbidden = err
		os.Exit(m.Run())
	}
	if err := rootless.Setup(); err != nil {
		fmt.Fprintln(os.Stderr, "nstest:", err)
		os.Exit(1)
	}
	before := descriptors()
	code := m.Run()
	if left := leaks(before); code == 0 && len(left) > 0 {
		fmt.Fprintln(os.Stderr, "nstest: the tests left behind:", strings.Join(left, ", "))
		code = exitLeak
	}
	os.Exit(code)
}

// Need skips a test where namespaces cannot be created.
func Need(t testing.TB) {
	t.Helper()
	if forbidden != nil {
		t.Skipf("no namespaces: %v", forbidden)
	}
}

// leaks lists other processes and new descriptors; all else in a namespace dies with its last one.
func leaks(before map[string]string) (left []string) {
	procs, _ := filepath.Glob("/proc/[0-9]*/comm")
	for _, p := range procs {
		if p != "/proc/1/comm" {
			comm, _ := os.ReadFile(p)
			left = append(left, fmt.Sprintf("process %s", strings.TrimSpace(string(comm))))
		}
	}
	for fd, to := range descriptors() {
		// The Go runtime keeps an eventpoll and an eventfd once used.
		if before[fd] != to && !strings.HasPrefix(to, "anon_inode:[event") {
			left = append(left, "descriptor of "+to)
		}
	}
	slices.Sort(left)
	return left
}

func descriptors() map[string]string {
	open := map[string]string{}
	fds, _ := filepath.Glob("/proc/1/fd/*")
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil {
			open[fd] = to
		}
	}
	return open
}
