package confine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMain is the confined process, too: it tries what it has given up, and prints what happened.
func TestMain(m *testing.M) {
	var err error
	switch os.Args[0] {
	case "reader":
		err = Reader()
	case "engine":
		err = Engine(false)
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Println("confine:", err)
	}
	// On several threads, whichever was there before.
	var all sync.WaitGroup
	var mu sync.Mutex
	for range 8 {
		all.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			b, err := os.ReadFile("/proc/thread-self/status")
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				fmt.Println("status:", err)
			}
			os.Stdout.Write(b)
		})
	}
	all.Wait()
	fmt.Println("exec:", errors.Is(exec.Command("/bin/sh", "-c", "exit").Run(), syscall.EACCES))
	fmt.Println("write:", errors.Is(os.WriteFile(os.Args[1], nil, 0o600), syscall.EACCES))
	fmt.Println("truncate:", errors.Is(unix.Truncate(os.Args[2], 0), syscall.EACCES))
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	fmt.Println("socket:", err, unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	os.Exit(0)
}

// Every thread of a confined process has lost its capabilities and cannot get new ones, and the process can start no
// program. The engine cannot write files either.
func TestConfined(t *testing.T) {
	if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_GETPID, 0, 0, 0); errno != 0 {
		t.Skip("built with cgo")
	}
	version, _, errno := syscall.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	landlock := errno == 0
	mask := func(caps ...uint) (m uint64) {
		for _, c := range caps {
			m |= 1 << c
		}
		return m
	}
	for role, c := range map[string]struct {
		most  uint64
		write bool
	}{
		"reader": {mask(unix.CAP_DAC_OVERRIDE, unix.CAP_DAC_READ_SEARCH), false},
		"engine": {mask(unix.CAP_NET_ADMIN, unix.CAP_NET_RAW, unix.CAP_NET_BIND_SERVICE, unix.CAP_IPC_LOCK), true},
	} {
		old := filepath.Join(t.TempDir(), "old")
		if err := os.WriteFile(old, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("/proc/self/exe", filepath.Join(t.TempDir(), "file"), old)
		cmd.Args[0] = role
		b, err := cmd.CombinedOutput()
		out := string(b)
		if err != nil || strings.Contains(out, "confine:") || !strings.Contains(out, "socket: <nil> <nil>") || strings.Count(out, "NoNewPrivs:\t1\n") != 8 {
			t.Errorf("%s: %v\n%s", role, err, out)
		}
		for line := range strings.Lines(out) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":\t")
			if name != "CapPrm" && name != "CapEff" && name != "CapInh" {
				continue
			}
			if has, err := strconv.ParseUint(value, 16, 64); err != nil || has&^c.most != 0 {
				t.Errorf("%s: %s %s, want at most %x: %v", role, name, value, c.most, err)
			}
		}
		want := fmt.Sprintf("exec: %v\nwrite: %v\ntruncate: %v\n", landlock, landlock && c.write, landlock && c.write && version >= 3)
		if !strings.Contains(out, want) {
			t.Errorf("%s: want %q\n%s", role, want, out)
		}
	}
}
