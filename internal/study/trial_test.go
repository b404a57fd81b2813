package study

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func cellsOf(t *testing.T, src string, applies func(probe, factor string) bool) []Cell {
	t.Helper()
	s, err := Load([]byte(src), "f")
	if err != nil {
		t.Fatal(err)
	}
	return s.Cells(applies)
}

const design = `networks: [host, {use: vxlan-overlay, name: vx}]
probes: [tcp-stream, {use: udp-stream, name: udp}]
factors:
  size: [100, 1000]
  mtu: [1500, 9000]
`

func TestCells(t *testing.T) {
	got := cellsOf(t, design, func(probe, factor string) bool { return factor != "size" || probe == "udp-stream" })
	var want []Cell
	for _, n := range []string{"host", "vx"} {
		for _, mtu := range []string{"1500", "9000"} {
			want = append(want, Cell{n, "tcp-stream", map[string]string{"mtu": mtu}})
		}
		for _, mtu := range []string{"1500", "9000"} {
			for _, size := range []string{"100", "1000"} {
				want = append(want, Cell{n, "udp", map[string]string{"mtu": mtu, "size": size}})
			}
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestCellsAreUnique(t *testing.T) {
	for name, c := range map[string]struct {
		applies func(probe, factor string) bool
		want    int
	}{
		"all":  {nil, 16},
		"none": {func(_, _ string) bool { return false }, 4},
	} {
		seen := map[string]bool{}
		cells := cellsOf(t, design, c.applies)
		for _, c := range cells {
			seen[fmt.Sprint(c)] = true
		}
		if len(cells) != c.want || len(seen) != c.want {
			t.Errorf("%s: %d cells, %d different ones, want %d", name, len(cells), len(seen), c.want)
		}
	}
}

// This order must never change: see Block.
func TestOrderIsPinned(t *testing.T) {
	var cells []Cell
	for _, n := range []string{"a", "b", "c", "d"} {
		for _, p := range []string{"x", "y", "z"} {
			cells = append(cells, Cell{Network: n, Probe: p})
		}
	}
	for block, want := range map[int]string{
		1: "by bx ay cz dz dy ax cy dx bz cx az",
		2: "bx by dz az cy cx bz dx cz ax dy ay",
	} {
		var got []string
		for _, tr := range Block(42, block, cells) {
			got = append(got, tr.Network+tr.Probe)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("block %d: order %s, want %s", block, s, want)
		}
	}
}

func TestBlockIsAPermutation(t *testing.T) {
	cells := cellsOf(t, design, nil)
	before := slices.Clone(cells)
	for block := 1; block <= 50; block++ {
		trials := Block(7, block, cells)
		if !reflect.DeepEqual(trials, Block(7, block, cells)) {
			t.Fatal("the order depends on more than seed and block")
		}
		var keys, want []string
		for i := range cells {
			if trials[i].Block != block {
				t.Fatalf("trial of block %d in block %d", trials[i].Block, block)
			}
			keys, want = append(keys, fmt.Sprint(trials[i].Cell)), append(want, fmt.Sprint(cells[i]))
		}
		slices.Sort(keys)
		slices.Sort(want)
		if !slices.Equal(keys, want) {
			t.Fatalf("block %d is not a permutation of the cells", block)
		}
	}
	if !reflect.DeepEqual(cells, before) {
		t.Error("Block changed its argument")
	}
	if n := len(Block(1, 1, nil)); n != 0 {
		t.Errorf("%d trials without cells", n)
	}
}

// Every cell is equally often at every place, over blocks and over seeds. The chi-square of the 5×5
// table has 16 degrees of freedom: 39.25 is its 99.9 %.
func TestOrderIsUniform(t *testing.T) {
	const n, rounds = 5, 5000
	var cells []Cell
	for i := range n {
		cells = append(cells, Cell{Network: string(rune('a' + i)), Probe: "p"})
	}
	for name, trials := range map[string]func(i int) []Trial{
		"blocks": func(i int) []Trial { return Block(1, i+1, cells) },
		"seeds":  func(i int) []Trial { return Block(uint64(i+1), 1, cells) },
	} {
		var count [n][n]float64
		for i := range rounds {
			for place, tr := range trials(i) {
				count[place][tr.Network[0]-'a']++
			}
		}
		chi := 0.0
		for _, row := range count {
			for _, c := range row {
				chi += math.Pow(c-rounds/n, 2) / (rounds / n)
			}
		}
		if chi > 39.25 {
			t.Errorf("%s: chi-square %.1f: %v", name, chi, count)
		}
	}
}

func TestIDs(t *testing.T) {
	long := strings.Repeat("x", maxName)
	for want, c := range map[string]Cell{
		"b001-vxlan-overlay-udp-stream-size=1000":              {"vxlan-overlay", "udp-stream", map[string]string{"size": "1000"}},
		"b001-host-tcp-stream":                                 {"host", "tcp-stream", nil},
		"b001-host-p-a=1-b=2":                                  {"host", "p", map[string]string{"b": "2", "a": "1"}},
		"b001-host_2-p-path=_etc_x":                            {"host#2", "p", map[string]string{"path": "/etc/x"}},
		"b001-host-p-s=a_b_":                                   {"host", "p", map[string]string{"s": "a bé"}},
		"b001-" + long + "-" + long[:28] + "-8abcec0a256811ce": {long, long, nil},
		"b001-h-p-x=1.-3ed13b0759721011":                       {"h", "p", map[string]string{"x": "1."}},
	} {
		if got := Block(1, 1, []Cell{c})[0].ID; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if id := Block(1, 12345, []Cell{{Network: "a", Probe: "b"}})[0].ID; id != "b12345-a-b" {
		t.Error(id)
	}
}

// IDs are distinct even without regard to case, and are valid file names.
func TestIDsAreUnique(t *testing.T) {
	lv := func(s string) map[string]string { return map[string]string{"f": s} }
	cells := []Cell{
		{"a", "b-c", nil}, {"a-b", "c", nil}, {"VX", "p", nil}, {"vx", "p", nil}, {"host#2", "p", nil}, {"host_2", "p", nil},
		{"a", "b", lv("x/y")}, {"a", "b", lv(`x\y`)}, {"a", "b", lv("x y")}, {"a", "b", lv("..")}, {"a", "b", lv(strings.Repeat("z", 200))},
		{"a", "b", lv(strings.Repeat("z", 201))}, {"a", "b", lv("1-g=2")}, {"a", "b", map[string]string{"f": "1", "g": "2"}}, {"plain", "p", nil},
	}
	form := regexp.MustCompile(`^b001-[A-Za-z0-9._+=-]*[A-Za-z0-9_+=-]$`)
	seen := map[string]bool{}
	for _, tr := range Block(1, 1, cells) {
		low := strings.ToLower(tr.ID)
		if seen[low] {
			t.Errorf("%s occurs twice", tr.ID)
		}
		seen[low] = true
		if !form.MatchString(tr.ID) || len(tr.ID) > 120 {
			t.Errorf("%q is not a safe file name", tr.ID)
		}
		if tr.Network == "plain" && tr.ID != "b001-plain-p" {
			t.Errorf("%s has a hash that it does not need", tr.ID)
		}
	}
}

// Half of the blocks are swapped, in an order that depends only on the seed; without swap, none
// are.
func TestSwapped(t *testing.T) {
	orders := map[string]bool{}
	for seed := range uint64(50) {
		s, order := Study{Seed: seed, Swap: true}, ""
		for b := 1; b <= 20; b++ {
			order += map[bool]string{true: "s", false: "-"}[s.Swapped(b)]
			if n := strings.Count(order, "s"); b%2 == 0 && n != b/2 {
				t.Errorf("seed %d: %d of %d blocks are swapped", seed, n, b)
			}
			if (Study{Seed: seed}).Swapped(b) {
				t.Errorf("seed %d: block %d is swapped", seed, b)
			}
		}
		orders[order] = true
	}
	if len(orders) < 45 {
		t.Errorf("50 seeds give %d orders", len(orders))
	}
	// Pinned: a resumed run must swap as it began.
	got := ""
	for b := 1; b <= 8; b++ {
		got += fmt.Sprint(Study{Seed: 7, Swap: true}.Swapped(b)) + " "
	}
	if want := "true false false true true false true false "; got != want {
		t.Errorf("swapped %s, want %s", got, want)
	}
}
