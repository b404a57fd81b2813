package netns_test

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weir-bench/weir/internal/netns"
	"github.com/weir-bench/weir/internal/nstest"
)

func TestMain(m *testing.M) {
	nstest.Main(m, func([]string) int { // it prints its namespace on request
		_, _ = io.ReadAll(os.Stdin)
		where, err := os.Readlink("/proc/self/ns/net")
		if err != nil {
			return 1
		}
		os.Stdout.WriteString(where)
		return 0
	})
}

func here(t *testing.T) string {
	t.Helper()
	where, err := os.Readlink("/proc/thread-self/ns/net")
	if err != nil {
		t.Error(err)
	}
	return where
}

func create(t *testing.T) *netns.Namespace {
	t.Helper()
	nstest.Need(t)
	ns, err := newNamespace()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ns.Close() }) // a test can have closed it
	return ns
}

func do(t *testing.T, ns *netns.Namespace, f func() error) {
	t.Helper()
	if err := ns.Do(f); err != nil {
		t.Error(err)
	}
}

// No other goroutine wakes up in a namespace, and entering it does not accumulate threads.
func TestNobodyElseIsInside(t *testing.T) {
	ns := create(t)
	home := here(t)
	threads := count(t, "/proc/self/task/*")
	for range 10 {
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				do(t, ns, func() error {
					if here(t) == home {
						t.Error("Do is at home")
					}
					return nil
				})
			})
			wg.Go(func() {
				if where := here(t); where != home {
					t.Errorf("a goroutine is in %s, home is %s", where, home)
				}
			})
		}
		wg.Wait()
	}
	if where, err := os.Readlink("/proc/self/ns/net"); err != nil || where != home {
		t.Errorf("the main thread is in %s, home is %s: %v", where, home, err)
	}
	if now := count(t, "/proc/self/task/*"); now > threads+150 { // at most those that ran at a time
		t.Errorf("%d threads, there were %d", now, threads)
	}
}

func count(t *testing.T, pattern string) int {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

func TestErrors(t *testing.T) {
	ns := create(t)
	why := errors.New("no")
	if err := ns.Do(func() error { return why }); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	if err := ns.Do(func() error { panic("help") }); err == nil || !strings.Contains(err.Error(), "help") {
		t.Errorf("a panic is lost: %v", err)
	}
	if _, err := ns.Open("/proc/net/no-such-file"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if err := ns.Close(); err != nil {
		t.Fatal(err)
	}
	if err := ns.Do(func() error { return nil }); err == nil {
		t.Error("a closed namespace was entered")
	}
}

// Programs, sockets and /proc/net files stay in the namespace that they were made in.
func TestWhatStaysInside(t *testing.T) {
	ns, other := create(t), create(t)
	var inside, inOther string
	do(t, ns, func() error { inside = here(t); return nil })
	do(t, other, func() error { inOther = here(t); return nil })
	if inside == inOther || inside == here(t) {
		t.Errorf("namespaces %s, %s and %s should differ", inside, inOther, here(t))
	}

	// A program starts inside and outlives the thread that started it.
	cmd := exec.Command("/proc/self/exe")
	cmd.Args[0] = "weir"
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	cmd.Stdout = &out
	do(t, ns, cmd.Start)
	for range 20 {
		do(t, other, func() error { return nil })
	}
	in.Close()
	if err := cmd.Wait(); err != nil || out.String() != inside {
		t.Errorf("the program was in %s, want %s: %v", out.String(), inside, err)
	}

	// A listener made inside works from any thread and is unreachable from home.
	var l net.Listener
	do(t, ns, func() (err error) { l, err = net.Listen("tcp4", "127.0.0.1:0"); return err })
	defer l.Close()
	if c, err := net.Dial("tcp4", l.Addr().String()); err == nil {
		c.Close()
		t.Error("a listener inside was reached from home")
	}

	// /proc/net belongs to the namespace for as long as the file is open.
	f, err := ns.Open("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil || strings.Count(string(b), "\n") != 2 { // heading and listener
		t.Errorf("the socket table inside is %q, %v", b, err)
	}
	home, err := os.ReadFile("/proc/net/tcp")
	if err != nil || strings.Count(string(home), "\n") != 1 {
		t.Errorf("the socket table at home is %q, %v", home, err)
	}
}

func TestCloseKeepsNothing(t *testing.T) {
	nstest.Need(t)
	before := count(t, "/proc/self/fd/*")
	for range 100 {
		ns, err := newNamespace()
		if err == nil {
			err = ns.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if now := count(t, "/proc/self/fd/*"); now > before {
		t.Errorf("%d descriptors, there were %d", now, before)
	}
}

// Create makes distinct namespaces, DoEach enters them in order, and both stop at the first error.
func TestSeveral(t *testing.T) {
	nstest.Need(t)
	var made []*netns.Namespace
	var names []string
	enough := errors.New("enough")
	err := netns.Create(9, func(i int, ns *netns.Namespace) error {
		made, names = append(made, ns), append(names, here(t))
		if i == 2 {
			return enough
		}
		return nil
	})
	defer func() {
		for _, ns := range made {
			ns.Close()
		}
	}()
	distinct := slices.Compact(slices.Sorted(slices.Values(names)))
	if !errors.Is(err, enough) || len(distinct) != 3 || slices.Contains(distinct, here(t)) {
		t.Fatalf("%v in %s, %v", names, here(t), err)
	}
	var entered []string
	err = netns.DoEach(made, func(i int) error {
		entered = append(entered, here(t))
		if i == 1 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || !slices.Equal(entered, names[:2]) {
		t.Errorf("entered %v, want %v; %v", entered, names[:2], err)
	}
}

func newNamespace() (ns *netns.Namespace, err error) {
	err = netns.Create(1, func(_ int, made *netns.Namespace) error {
		ns = made
		return nil
	})
	return ns, err
}
