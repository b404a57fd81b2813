package kube_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/experiment"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target/agent"
	"github.com/weir-bench/weir/internal/target/kube"
	"github.com/weir-bench/weir/internal/target/remote"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/record"
)

const (
	manyNodes  = 250
	manyRounds = 3
	manyBlocks = 2
	manyPass   = "a token of 128 bits, more or less"
)

// Hundreds of agents join a coordinator over its listener, and the scheduler of random rounds measures
// between them. Everything is weir's own but the engines, which only wait. An agent that is lost costs its
// own trials of one block, and comes again.
func TestHundreds(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c, _, err := kube.NewCoordinator(manyOrder(t), l)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	agents := make([]*simulated, manyNodes)
	for i := range agents {
		a := &simulated{number: i, dies: i == 7}
		agents[i] = a
		all.Go(func() {
			err := remote.JoinAs(t.Context(), l.Addr().String(), manyPass, kube.Placement{Group: "hosts", Index: i, Node: a.name(), Addrs: []string{a.addr()}}, a.serve)
			if err != nil {
				t.Errorf("%s: %v", a.name(), err)
			}
		})
	}
	if err := c.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	rs := manyTrials(t, c)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	all.Wait()

	pairs := map[int]map[string]bool{}
	for _, r := range rs {
		pair := r.Config["pair"]
		if pairs[r.Block] == nil {
			pairs[r.Block] = map[string]bool{}
		}
		if pairs[r.Block][pair] {
			t.Errorf("block %d measures %s twice", r.Block, pair)
		}
		pairs[r.Block][pair] = true
		ofLost := strings.HasPrefix(pair, "h8-") || strings.HasSuffix(pair, "-h8")
		if r.Status != record.OK && (!ofLost || r.Block > 1) {
			t.Errorf("block %d, %s: %s: %s", r.Block, pair, r.Status, r.Reason)
		}
	}
	for b := 1; b <= manyBlocks; b++ {
		if n := len(pairs[b]); n != manyRounds*manyNodes/2 {
			t.Errorf("block %d has %d pairs, want %d", b, n, manyRounds*manyNodes/2)
		}
	}
	for _, a := range agents {
		if a.engines > 4 { // an asking and a serving one; all start anew when the lost agent has come again
			t.Errorf("%s started %d engines", a.name(), a.engines)
		}
	}
}

// manyOrder is the Secret of the run.
func manyOrder(t *testing.T) fstest.MapFS {
	t.Helper()
	var names []string
	var nodes []map[string]string
	for i := range manyNodes {
		names = append(names, (&simulated{number: i}).name())
		nodes = append(nodes, map[string]string{"name": names[i]})
	}
	cluster, err := json.Marshal(map[string]any{"run": "x", "namespace": "n", "machines": nodes, "ports": map[string]int{"First": 5201, "Last": 5299},
		"groups": []any{map[string]any{"name": "hosts", "host": true, "nodes": names}}})
	if err != nil {
		t.Fatal(err)
	}
	return fstest.MapFS{"token": {Data: []byte(manyPass)}, "study.yaml": {Data: nil}, "cluster.json": {Data: cluster}}
}

// manyTrials runs the study.
func manyTrials(t *testing.T, c *kube.Coordinator) []record.Result {
	t.Helper()
	s := study.Default()
	s.Name, s.Seed, s.Warmup, s.Duration, s.Episodes = "many", 7, 0, 20*time.Millisecond, 1
	s.KeepDisturbed = true // simulated clocks are not exact
	s.Blocks, s.AllPairs, s.Rounds, s.Topology.Hosts = manyBlocks, true, manyRounds, manyNodes
	s.Networks, s.Probes = []study.Use{{Name: "host", Kind: "host"}}, []study.Use{{Name: "wait", Kind: "wait"}}
	s = s.Resolve()
	on, err := topo.New(topo.Spec{Hosts: manyNodes, Find: topo.Find{Kind: topo.Hosts}})
	if err != nil {
		t.Fatal(err)
	}
	on.Exists, on.Segments = true, nil
	c.Wants = []topo.Topology{on}
	d, err := store.Create(filepath.Join(t.TempDir(), "out"))
	if err == nil {
		err = d.File("study.yaml", nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	err = experiment.Run(t.Context(), experiment.Config{Study: s, Networks: map[string]experiment.Network{"host": {Driver: bare{}, Topology: on}},
		Probe: func(string, map[string]string) (probe.Probe, error) { return wait{}, nil }, Target: c, Dir: d})
	rs, readErr := d.Results()
	if err = errors.Join(err, readErr, d.Close()); err != nil {
		t.Fatal(err)
	}
	return rs
}

// bare is the network of hosts without expectations on counters.
type bare struct{}

func (bare) Plan(t topo.Topology) (plan.Plan, error) {
	p, err := network.Host{}.Plan(t)
	for i := range p.Expect {
		p.Expect[i].Proof = plan.Proof{}
	}
	return p, err
}

// wait is a probe whose engine only waits.
type wait struct{}

func (wait) Info() probe.Info { return probe.Info{} }

func (wait) Commands(probe.Window) (server, client []string) {
	return []string{"weir", "engine", "serve"}, []string{"weir", "engine", "wait"}
}

func (wait) Parse(o probe.Output) (probe.Measured, error) {
	if !bytes.Contains(o.Client, []byte(event.MarkEnd)) {
		return probe.Measured{}, fmt.Errorf("no end in %q", o.Client)
	}
	return probe.Measured{Values: []record.Value{{Name: "throughput", Unit: "bit/s", Value: 1e9}}, Protocol: "tcp"}, nil
}

// A simulated agent answers as one on a machine of its own. One that dies ends its connection during its
// first measurement.
type simulated struct {
	number  int
	dies    bool
	engines int // started
}

func (a *simulated) name() string { return fmt.Sprintf("node%03d", a.number+1) }
func (a *simulated) addr() string { return fmt.Sprintf("10.9.%d.%d", a.number/200, a.number%200+1) }

// An order is the part of a message that a simulation needs.
type order struct {
	ID   int    `json:"id"`
	Read string `json:"read"`
	Run  *struct {
		Argv [][]byte `json:"argv"`
	} `json:"run"`
	In     []byte `json:"in"`
	EOF    bool   `json:"eof"`
	Signal int    `json:"signal"`
}

var errDied = errors.New("died")

// serve speaks the protocol of package agent.
func (a *simulated) serve(conn io.ReadWriter) error {
	var mu sync.Mutex
	send := func(id int, what map[string]any) {
		mu.Lock()
		defer mu.Unlock()
		what["id"] = id
		_ = json.NewEncoder(conn).Encode(what) // the connection can be gone
	}
	asking := map[int]bool{}
	for orders := agent.NewReader(conn); ; {
		var o order
		switch err := orders.Read(&o); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		switch {
		case o.Run != nil:
			a.engines++
			if asking[o.ID] = string(o.Run.Argv[2]) == "agent"; !asking[o.ID] {
				send(o.ID, map[string]any{"out": []byte(event.MarkReady + "}\n")})
			}
		case o.Signal != 0 || o.EOF:
			send(o.ID, map[string]any{"exit": 0})
		case o.In != nil && a.dies && !bytes.Contains(o.In, []byte("reach")):
			a.dies = false
			return errDied
		case o.In != nil:
			go a.obey(o, send)
		case o.Read != "":
			send(o.ID, map[string]any{"failed": o.Read + " does not exist", "errno": 2})
		default:
			send(o.ID, map[string]any{"answer": map[string]any{"host": a.name(), "cpus": []int{0, 1}, "reading": a.reading(), "facts": map[string]any{"kernel": "6.1"},
				"links": []any{map[string]any{"index": 2, "name": "eth0", "mtu": 1500, "up": true, "addrs": []string{a.addr() + "/16"}}}}})
		}
	}
}

// obey is the asking engine.
func (a *simulated) obey(o order, send func(int, map[string]any)) {
	line := func(text string) { send(o.ID, map[string]any{"out": []byte(text + "\n")}) }
	if !bytes.Contains(o.In, []byte("reach")) {
		for _, mark := range []string{event.MarkBegin, event.MarkEnd} {
			send(o.ID, map[string]any{"reading": a.reading()})
			line(mark)
			time.Sleep(20 * time.Millisecond) // the window
		}
	}
	line(event.MarkResult + "}")
}

var origin = time.Now()

func (a *simulated) reading() map[string]any {
	on := time.Since(origin) + time.Duration(a.number)*time.Hour // each machine has a clock of its own
	counters := map[string]float64{"cpu.user": 0, "cpu.idle": 2 * on.Seconds(), "proc.user": 0, "proc.system": 0}
	return map[string]any{"at": on, "own": 0, "counters": maps.Clone(counters)}
}
