package analysis

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/analysis/standing"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/record"
)

// A mesh is a synthetic run that measures all pairs of machines.
type mesh struct {
	hosts, blocks int
	noise         float64 // of single values, relative
	paths         float64 // of pairs, the same in all blocks
	machines      float64 // of all pairs of a machine, the same in all blocks
	zones         []string
	rounds        int  // pairs of each machine per block; 0: all
	ahead         bool // the first machine of a pair is its sender in every block
	value         func(from, to int) float64
	unit          string
}

func (m mesh) results(seed uint64) (rs []record.Result) {
	r := rand.New(rand.NewPCG(seed, 99))
	path := map[[2]int]float64{}
	machine := make([]float64, m.hosts)
	if m.machines > 0 {
		for i := range machine {
			machine[i] = m.machines * r.NormFloat64()
		}
	}
	for block := 1; block <= m.blocks; block++ {
		drift := math.Exp(0.05 * r.NormFloat64())
		order := r.Perm(m.hosts)
		for i, a := range order {
			for j, b := range order[:i] {
				if m.rounds > 0 && (i+j)%(m.hosts-1) >= m.rounds {
					continue
				}
				a, b := min(a, b), max(a, b)
				p, ok := path[[2]int{a, b}]
				if !ok {
					p = math.Exp(m.paths * r.NormFloat64())
					path[[2]int{a, b}] = p
				}
				from, to := a+1, b+1
				if block%2 == 0 && !m.ahead {
					from, to = to, from
				}
				v := 1e9 * drift * p * math.Exp(machine[a]+machine[b]+m.noise*r.NormFloat64())
				if m.value != nil {
					v *= m.value(from, to)
				}
				x := ofPair(block, "host", topo.HostName(a+1)+"-"+topo.HostName(b+1), v)
				if m.ahead {
					record.Swapped.Put(x.Observed, false)
				}
				if m.unit != "" {
					x.Values[0].Name, x.Values[0].Unit = record.RTT, m.unit
				}
				rs = append(rs, x)
			}
		}
	}
	return rs
}

func (m mesh) standing(t *testing.T, seed uint64) standing.Standing {
	t.Helper()
	var machines []Machine
	for i, z := range m.zones {
		machines = append(machines, Machine{Name: fmt.Sprint("node", i+1), Zone: z})
	}
	all := New(m.results(seed), Options{Baseline: "host", Machines: machines}).Standings
	if len(all) != 1 {
		t.Fatalf("%d standings, want 1", len(all))
	}
	return all[0]
}

func slowOnes(s standing.Standing) (hosts []string) {
	for _, h := range s.Hosts {
		if h.Slow {
			hosts = append(hosts, h.Host)
		}
	}
	return hosts
}

// slower gives all pairs of machines a share of the rate of the others.
func slower(share float64, machines ...int) func(from, to int) float64 {
	return func(from, to int) float64 {
		if slices.Contains(machines, from) || slices.Contains(machines, to) {
			return share
		}
		return 1
	}
}

// sends gives what one machine sends a share of the rate of the others.
func sends(share float64, machine int) func(from, to int) float64 {
	return func(from, _ int) float64 {
		if from == machine {
			return share
		}
		return 1
	}
}

// A planted slow machine is found, with its ratio, in small and large meshes, by rate and by time, and
// whether it is slow in both directions or in one. No other machine is.
func TestSlowMachine(t *testing.T) {
	for name, c := range map[string]struct {
		mesh
		slow  []string
		ratio float64
	}{
		"3 machines":              {mesh{hosts: 3, blocks: 10, noise: 0.03, value: slower(0.21, 3)}, []string{"h3"}, 0.21},
		"4 machines":              {mesh{hosts: 4, blocks: 10, noise: 0.03, paths: 0.03, value: slower(0.21, 3)}, []string{"h3"}, 0.21},
		"8 machines":              {mesh{hosts: 8, blocks: 10, noise: 0.03, paths: 0.05, value: slower(0.5, 1)}, []string{"h1"}, 0.5},
		"two of them":             {mesh{hosts: 10, blocks: 10, noise: 0.03, paths: 0.03, value: slower(0.21, 2, 7)}, []string{"h2", "h7"}, 0.21},
		"random rounds":           {mesh{hosts: 60, blocks: 16, rounds: 6, noise: 0.05, paths: 0.09, value: slower(0.4, 17)}, []string{"h17"}, 0.4},
		"unlike machines":         {mesh{hosts: 12, blocks: 10, noise: 0.03, paths: 0.03, machines: 0.03, value: slower(0.4, 4, 9)}, []string{"h4", "h9"}, 0.4},
		"a stopped one":           {mesh{hosts: 6, blocks: 10, noise: 0.03, value: slower(0, 4)}, []string{"h4"}, 0},
		"a slow response":         {mesh{hosts: 6, blocks: 10, noise: 0.03, paths: 0.03, unit: "s", value: slower(3, 4)}, []string{"h4"}, 3},
		"4, a bucket as sender":   {mesh{hosts: 4, blocks: 10, noise: 0.05, paths: 0.05, value: sends(0.007, 3)}, []string{"h3"}, 0.5},
		"4, a bucket as receiver": {mesh{hosts: 4, blocks: 10, noise: 0.05, paths: 0.05, value: func(from, to int) float64 { return sends(0.007, 4)(to, from) }}, []string{"h4"}, 0.5},
		"4, a bucket, one way":    {mesh{hosts: 4, blocks: 10, noise: 0.05, paths: 0.05, ahead: true, value: sends(0.007, 2)}, []string{"h2"}, 0.34},
		"3, a bucket as sender":   {mesh{hosts: 3, blocks: 10, noise: 0.05, value: sends(0.007, 2)}, []string{"h2"}, 0.5},
		"as sender only": {mesh{hosts: 6, blocks: 20, noise: 0.03, paths: 0.02, value: func(from, _ int) float64 {
			if from == 5 {
				return 0.3
			}
			return 1
		}}, []string{"h5"}, 0.65},
	} {
		s := c.standing(t, 5)
		if got := slowOnes(s); !slices.Equal(got, c.slow) {
			t.Errorf("%s: slow are %v, want %v", name, got, c.slow)
			continue
		}
		for _, h := range s.Hosts {
			if h.Slow && (math.Abs(h.Ratio.Center-c.ratio) > 0.1*c.ratio+0.001 || !h.Ratio.Bounded() || !strings.Contains(name, "as ") && h.Ratio.Hi-h.Ratio.Lo > 0.4*c.ratio+0.001) {
				t.Errorf("%s: %s has ratio %.3f [%.3f, %.3f], want %g", name, h.Host, h.Ratio.Center, h.Ratio.Lo, h.Ratio.Hi, c.ratio)
			}
			if !h.Slow && h.Ratio.N > 0 && math.Abs(h.Ratio.Center-1) > 0.3 {
				t.Errorf("%s: %s has ratio %.3f although it is like the others", name, h.Host, h.Ratio.Center)
			}
			if h.Slow && name == "as sender only" && (!s.Worse(h.Sender) || s.Worse(h.Receiver) || math.Abs(h.Sender.Center-0.3) > 0.03) {
				t.Errorf("%s: sender %+v, receiver %+v", name, h.Sender, h.Receiver)
			}
		}
	}
}

// Pairs across zones are slower than inside: a machine in a small zone has more of them, and is not slow.
func TestSlowMachineAndZones(t *testing.T) {
	m := mesh{hosts: 9, blocks: 10, noise: 0.03, paths: 0.02, zones: []string{"a", "a", "a", "a", "a", "b", "b", "c", "c"}}
	across := func(from, to int) float64 {
		if m.zones[from-1] != m.zones[to-1] {
			return 0.3
		}
		return 1
	}
	m.value = across
	if s := m.standing(t, 1); len(slowOnes(s)) > 0 {
		t.Errorf("slow are %v", slowOnes(s))
	}
	m.value = func(from, to int) float64 { return across(from, to) * slower(0.5, 6)(from, to) }
	s := m.standing(t, 1)
	if !slices.Equal(slowOnes(s), []string{"h6"}) || math.Abs(s.Hosts[5].Ratio.Center-0.5) > 0.05 {
		t.Errorf("slow are %v, h6 has %+v", slowOnes(s), s.Hosts[5].Ratio)
	}
	// A machine alone in its zone has pairs that none of the others can be compared with.
	m.zones = []string{"a", "a", "a", "a", "b"}
	m.hosts, m.value = 5, slower(0.2, 5)
	if s := m.standing(t, 1); len(slowOnes(s)) > 0 || s.Hosts[4].Ratio.N != 0 || s.Hosts[0].Ratio.N == 0 {
		t.Errorf("alone in a zone: %+v", s.Hosts)
	}
}

// Machines that do not differ are called slow in at most 5 % of runs, whether pairs are alike or each has
// a path of its own. Neither is the slowest of machines that differ by nature.
func TestFalseAlarms(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	for name, m := range map[string]mesh{
		"3 machines":     {hosts: 3, blocks: 10, noise: 0.05},
		"3, with paths":  {hosts: 3, blocks: 10, noise: 0.02, paths: 0.09},
		"4, with paths":  {hosts: 4, blocks: 10, noise: 0.02, paths: 0.09},
		"5 machines":     {hosts: 5, blocks: 10, noise: 0.05},
		"8, few blocks":  {hosts: 8, blocks: 4, noise: 0.1},
		"10, with paths": {hosts: 10, blocks: 10, noise: 0.02, paths: 0.09},
		"5, with paths":  {hosts: 5, blocks: 10, noise: 0.02, paths: 0.09},
		"12, unlike":     {hosts: 12, blocks: 8, noise: 0.02, paths: 0.02, machines: 0.03},
		"6, unlike":      {hosts: 6, blocks: 10, noise: 0.02, machines: 0.03},
		"5, one way":     {hosts: 5, blocks: 10, noise: 0.03, paths: 0.05, ahead: true},
		"24, in rounds":  {hosts: 24, blocks: 8, rounds: 5, noise: 0.05, paths: 0.05},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const runs = 200
			alarms, misses := 0, 0
			for seed := range uint64(runs) {
				s := m.standing(t, seed)
				if len(slowOnes(s)) > 0 {
					alarms++
				}
				if m.paths == 0 && m.machines == 0 && slices.ContainsFunc(s.Hosts, func(h standing.HostStanding) bool {
					return slices.ContainsFunc([]stat.Interval{h.Ratio, h.Sender, h.Receiver}, func(i stat.Interval) bool { return i.Bounded() && !i.Contains(1) })
				}) {
					misses++
				}
			}
			// One standard error above 5 %.
			if most := runs*5/100 + 3; alarms > most || misses > most {
				t.Errorf("of %d runs, %d name a slow machine, and in %d an interval misses", runs, alarms, misses)
			}
		})
	}
}

func TestStandingIsRepeatable(t *testing.T) {
	m := mesh{hosts: 7, blocks: 5, noise: 0.05, zones: []string{"a", "a", "a", "b", "b", "c", "c"}}
	if a, b := m.standing(t, 1), m.standing(t, 1); !reflect.DeepEqual(a, b) {
		t.Error("the same results give different numbers")
	}
	if s := New(mesh{hosts: 2, blocks: 5}.results(1), Options{}).Standings; s != nil {
		t.Errorf("two machines cannot be compared: %+v", s)
	}
}

func BenchmarkStanding500(b *testing.B) {
	rs := mesh{hosts: 500, blocks: 10, rounds: 12, noise: 0.05, paths: 0.09, value: slower(0.5, 3, 400)}.results(1)
	b.ReportAllocs()
	for b.Loop() {
		New(rs, Options{Baseline: "host"})
	}
}
