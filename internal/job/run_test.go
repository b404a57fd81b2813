package job

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/record"
)

// However a run stops, the error says exactly once how to continue.
func TestStopped(t *testing.T) {
	r := runner{RunOptions{Dir: "out"}}
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.New("the network is gone"), "finished trials are kept in out"},
		{fmt.Errorf("write: %w", syscall.ENOSPC), "make room"},
		{fmt.Errorf("sync: %w", syscall.EIO), "check the device below it"},
		{fmt.Errorf("no space: make room, then %w", store.Resume{Dir: "out"}), "make room"},
	} {
		err := r.stopped(c.err)
		if failure.Status(err) != int(failure.Environment) || !strings.Contains(err.Error(), c.want) || strings.Count(err.Error(), "--resume out") != 1 {
			t.Errorf("%v: status %d: %v", c.err, failure.Status(err), err)
		}
	}
}

// Each network adds its engines to the processes of a run, and each of its daemons its threads.
func TestProcesses(t *testing.T) {
	count := func(networks ...string) int {
		s := study.Default()
		s.Networks, s.Probes = nil, []study.Use{{Kind: "udp-rr", Name: "udp-rr"}}
		for _, n := range networks {
			s.Networks = append(s.Networks, study.Use{Kind: n, Name: n})
		}
		p, err := catalog.Prepare(s, topo.Kernel{})
		if err != nil {
			t.Fatal(err)
		}
		return processes(p.Networks)
	}
	one := count("host")
	if two, daemons := count("host", "bridge")-one, count("host", "flannel-udp")-one; two != ofNetwork || daemons <= two || (daemons-two)%ofDaemon != 0 {
		t.Errorf("%d of host, %d more of a bridge, %d more of Flannel", one, two, daemons)
	}
}

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		statuses []record.Status
		want     failure.Kind
	}{
		{nil, failure.Check},
		{[]record.Status{record.OK, record.OK}, 0},
		{[]record.Status{record.OK, record.Skipped}, failure.Environment},
		{[]record.Status{record.Skipped}, failure.Environment},
		{[]record.Status{record.OK, record.Invalid}, failure.Check},
		{[]record.Status{record.Failed, record.Skipped}, failure.Check},
	} {
		var rs []record.Result
		for _, s := range c.statuses {
			rs = append(rs, record.Result{Status: s})
		}
		if got := failure.Kind(failure.Status(verdict(rs))); got != c.want {
			t.Errorf("%v: status %d, want %d", c.statuses, got, c.want)
		}
	}
}

func TestUnknownCC(t *testing.T) {
	has := []string{"reno", "cubic"}
	if err := unknownCC([]string{"cubic", "reno"}, has); err != nil {
		t.Error(err)
	}
	if err := unknownCC([]string{"cubic", "nonesuch"}, has); err == nil || !strings.Contains(err.Error(), `no congestion control "nonesuch": it has reno, cubic`) {
		t.Error(err)
	}
}
