// Package targettest is the contract of package target as tests: TestContract runs them on every
// target that needs only this machine. Only tests may import it.
package targettest

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/target"
)

// A subject is a site under test; the tests close it.
type subject struct {
	*target.Site
	name string // node under test, which has sh(1)
	lose func() // breaks the connection to the node; nil where there is none
}

// patience bounds steps that are not stuck.
const patience = 20 * time.Second

// Contract tests every promise of package target. open is called for each test, which closes the site;
// name is the node under test, which has sh(1), and lose breaks the connection to it.
func Contract(t *testing.T, open func(*testing.T) (site *target.Site, name string, lose func())) {
	contract(t, func(t *testing.T) subject {
		site, name, lose := open(t)
		return subject{site, name, lose}
	})
}

func contract(t *testing.T, open func(*testing.T) subject) {
	for _, c := range []struct {
		name string
		test func(*testing.T, subject)
	}{
		{"programs", programs}, {"arguments", arguments}, {"volume", volume}, {"program missing", missing}, {"environment", environment}, {"CPUs", cpus},
		{"cancel", cancel}, {"what a program leaves", leaves}, {"files", files}, {"network", ownNetwork},
		{"host", host}, {"clock", clock}, {"mark", mark}, {"steps", steps}, {"states", states}, {"lost", lost},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := descriptors(t)
			s := open(t)
			defer func() { // even when the test skips
				if err := s.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
				// The other side of a connection also takes a moment to close.
				for deadline := time.Now().Add(patience); descriptors(t) > before; time.Sleep(time.Millisecond) {
					if time.Now().After(deadline) {
						t.Fatalf("%d descriptors are left, %d were open before", descriptors(t), before)
					}
				}
			}()
			c.test(t, s)
		})
	}
}

// descriptors counts open descriptors, without the runtime's own.
func descriptors(t *testing.T) (n int) {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if to, err := os.Readlink(l); err == nil && !strings.HasPrefix(to, "anon_inode:[event") && !strings.HasPrefix(to, "anon_inode:[pidfd") {
			n++
		}
	}
	return n
}

func (s subject) node() target.Node { return s.Nodes[s.name] }

func (s subject) sh(t *testing.T, script string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := s.node().Run(t.Context(), target.Cmd{Argv: []string{"sh", "-c", script}, Stdout: &out})
	return out.String(), err
}

func files(t *testing.T, s subject) {
	want, err := s.sh(t, "cat /proc/sys/kernel/osrelease")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := fs.ReadFile(s.node().FS(), "proc/sys/kernel/osrelease"); err != nil || string(got) != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	if _, err := fs.ReadFile(s.node().FS(), "proc/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that does not exist: %v", err)
	}
	if _, err := s.node().FS().Open("/proc/stat"); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("a path with a leading slash: %v", err)
	}
}

// Programs, files and readings belong to the node's own network.
func ownNetwork(t *testing.T, s subject) {
	const devices = "/proc/net/dev"
	seen, err := s.sh(t, "cat "+devices)
	if err != nil {
		t.Fatal(err)
	}
	file, err := fs.ReadFile(s.node().FS(), devices[1:])
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.node().Sample(t.Context(), sample.OfNetDev)
	if err != nil || len(r.Missing) > 0 {
		t.Fatal(err, r.Missing)
	}
	for _, line := range strings.Split(strings.TrimSpace(seen), "\n")[2:] {
		dev, _, _ := strings.Cut(strings.TrimSpace(line), ":")
		if _, ok := r.Counters["dev."+dev+".rx_bytes"]; !ok || !bytes.Contains(file, []byte(dev+":")) {
			t.Errorf("%s is missing in the file %q or among the counters %v", dev, file, r.Counters)
		}
		p, err := s.node().Settings(t.Context(), []string{dev}, nil)
		if err != nil || p.Devices[dev].MTU == 0 || p.Devices[dev].Qdisc == "" || p.Sysctl["net.ipv4.ip_forward"] == "" {
			t.Errorf("settings %+v, %v", p, err)
		}
	}
	r, err = s.node().Sample(t.Context(), sample.OfQdisc)
	if err != nil || !slices.Equal(r.Read, []string{sample.OfQdisc}) {
		t.Errorf("%+v, %v: want queueing disciplines", r, err)
	}
}

func host(t *testing.T, s subject) {
	h := s.node().Host()
	if h.ID == "" || len(s.Hosts()) == 0 || s.Hosts(s.name)[0].ID != h.ID {
		t.Errorf("host %q is not among those of the site", h.ID)
	}
	if f, err := h.Facts(t.Context()); err != nil || f.Kernel == "" || f.CPUs == 0 {
		t.Errorf("facts %+v, %v", f, err)
	}
	if _, _, err := h.Tool(t.Context(), facts.ToolInfo{Program: "no-such-tool"}); err == nil || !strings.Contains(err.Error(), "no-such-tool") {
		t.Errorf("a tool that nobody has: %v", err)
	}
	if path, _, err := h.Tool(t.Context(), facts.ToolInfo{Program: "/bin/sh"}); path != "/bin/sh" {
		t.Errorf("the shell is %q, %v", path, err)
	}
	if stat, err := fs.ReadFile(h.FS, "proc/stat"); err != nil || !bytes.HasPrefix(stat, []byte("cpu ")) {
		t.Errorf("%.20q, %v", stat, err)
	}
	if r, err := h.Sample(t.Context(), sample.OfStat, "no-such-source"); err != nil || len(r.Missing) != 1 || len(r.Counters) == 0 {
		t.Errorf("%+v, %v: want counters, and one source missing", r, err)
	}
}

// A host's clock advances at about our rate.
func clock(t *testing.T, s subject) {
	h := s.node().Host()
	from, err := h.Sample(t.Context(), sample.OfStat)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if _, err := s.sh(t, "sleep 0.2"); err != nil {
		t.Fatal(err)
	}
	ours := time.Since(begin)
	to, err := h.Sample(t.Context(), sample.OfStat)
	if err != nil {
		t.Fatal(err)
	}
	if theirs := to.At - from.At; theirs < ours*9/10 || theirs > time.Since(begin)+ours {
		t.Errorf("%v on the host's clock while ours took %v", theirs, ours)
	}
}

// A mark takes a reading before its line is passed on, and at no other line.
func mark(t *testing.T, s subject) {
	h := s.node().Host()
	before, err := h.Sample(t.Context(), sample.OfStat)
	if err != nil {
		t.Fatal(err)
	}
	var events []string
	var taken []target.Reading
	out := writer(func(b []byte) {
		if b = bytes.TrimSpace(b); len(b) > 0 {
			events = append(events, strings.Fields(string(b))...)
		}
	})
	err = s.node().Run(t.Context(), target.Cmd{
		Argv: []string{"sh", "-c", "echo a; echo begin; sleep 0.1; printf en; sleep 0.01; echo d; echo z"}, Stdout: out,
		Mark: &target.Mark{Lines: []string{"begin", "end"}, Sources: []string{sample.OfStat}, Take: func(r target.Reading) {
			taken, events = append(taken, r), append(events, "reading")
		}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.ReplaceAll(strings.Join(events, " "), "en reading d", "reading end"); got != "a reading begin reading end z" {
		t.Errorf("events: %s", got)
	}
	// The command sleeps between the sample and its second mark. The first mark may be read late, when part of that
	// sleep is over, so the distance of the two readings has no lower bound but zero.
	if len(taken) != 2 || taken[0].At < before.At || taken[1].At <= taken[0].At || taken[1].At-before.At < 100*time.Millisecond ||
		len(taken[1].Counters) == 0 {
		t.Errorf("readings %+v after %v", taken, before.At)
	}
}

// Steps are applied in order, and the error names the failed one.
func steps(t *testing.T, s subject) {
	if err := s.Apply(t.Context(), nil); err != nil {
		t.Errorf("nothing to do: %v", err)
	}
	err := s.Apply(t.Context(), []plan.Step{{In: s.name}, {In: s.name, Set: &plan.Set{Dev: "no-such-device", MTU: 1400}}})
	if err == nil || !strings.Contains(err.Error(), "step 1 of 2, in "+s.name) {
		t.Errorf("an empty step: %v", err)
	}
}

func states(t *testing.T, s subject) {
	if err := s.Verify(t.Context(), nil); err != nil {
		t.Errorf("nothing to check: %v", err)
	}
	for _, state := range []plan.State{{In: s.name, Dev: "no-such-device", MTU: 1400}, {In: "no-such-node", Dev: "lo", MTU: 1}} {
		if err := s.Verify(t.Context(), []plan.State{state}); err == nil {
			t.Errorf("%+v holds", state)
		}
	}
}

// A lost connection soon fails all pending and later calls.
func lost(t *testing.T, s subject) {
	if s.lose == nil {
		return
	}
	begin := time.Now()
	stdin, silent := io.Pipe()
	defer silent.Close()
	if err := s.node().Run(t.Context(), target.Cmd{Argv: []string{"sh", "-c", "echo ready; read never"}, Stdin: stdin, Stdout: hearing("ready", s.lose)}); err == nil {
		t.Error("a program ended well")
	}
	if _, err := fs.ReadFile(s.node().FS(), "proc/stat"); err == nil {
		t.Error("a file was read")
	}
	if _, err := s.node().Host().Sample(t.Context(), sample.OfStat); err == nil {
		t.Error("a reading was taken")
	}
	if took := time.Since(begin); took > patience {
		t.Errorf("it took %v", took)
	}
}
