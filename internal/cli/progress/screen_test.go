package progress

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/experiment"
	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/record"
)

// A vt is a terminal: it understands what a screen writes and nothing else.
type vt struct {
	t          *testing.T
	cols, rows int
	lines      [][]rune // also those that have scrolled away
	row, col   int
}

func newVT(t *testing.T, cols, rows int) *vt {
	return &vt{t: t, cols: cols, rows: rows, lines: [][]rune{nil}}
}

func (v *vt) Write(b []byte) (int, error) {
	for s := string(b); s != ""; {
		if rest, ok := strings.CutPrefix(s, "\x1b["); ok {
			i := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
			n, _ := strconv.Atoi(rest[:i])
			switch rest[i] {
			case 'A':
				v.row = max(0, len(v.lines)-v.rows, v.row-n)
			case 'J':
				v.lines = v.lines[:v.row+1]
				v.lines[v.row] = v.lines[v.row][:min(v.col, len(v.lines[v.row]))]
			default:
				v.t.Errorf("unexpected sequence %q", s[:i+3])
			}
			s = rest[i+1:]
			continue
		}
		r := []rune(s)[0]
		s = s[len(string(r)):]
		switch {
		case r == '\r':
			v.col = 0
		case r == '\n': // the kernel adds the carriage return
			v.down()
		default:
			if v.col == v.cols {
				v.down()
			}
			v.lines[v.row] = append(v.lines[v.row][:v.col], r)
			v.col++
		}
	}
	return len(b), nil
}

func (v *vt) down() {
	v.row, v.col = v.row+1, 0
	if v.row == len(v.lines) {
		v.lines = append(v.lines, nil)
	}
}

// resize wraps lines that have become too long, as most terminals do.
func (v *vt) resize(cols int) {
	var lines [][]rune
	for _, l := range v.lines {
		for len(l) > cols {
			lines, l = append(lines, l[:cols:cols]), l[cols:]
		}
		lines = append(lines, l)
	}
	v.cols, v.lines, v.row = cols, lines, len(lines)-1
	v.col = len(lines[v.row])
}

func (v *vt) want(lines ...string) {
	v.t.Helper()
	var got []string
	for _, l := range v.lines {
		got = append(got, string(l))
	}
	if !slices.Equal(got, lines) {
		v.t.Errorf("the terminal shows\n%q, want\n%q", got, lines)
	}
}

func screenOn(v *vt) *screen {
	return &screen{out: v, size: func() (int, int) { return v.cols, v.rows }}
}

func TestScreen(t *testing.T) {
	v := newVT(t, 20, 4)
	s := screenOn(v)
	s.print("begin")
	s.draw([]string{"bridge 1.00×", "50 %"})
	v.want("begin", "bridge 1.00×", "50 %")
	s.draw([]string{"bridge 1.01×", "60 %"})
	v.want("begin", "bridge 1.01×", "60 %")
	s.print("one\ntwo") // scrolls away; the lines stay
	v.want("begin", "one", "two", "bridge 1.01×", "60 %")
	s.print("a line that is longer than the terminal")
	v.want("begin", "one", "two", "a line that is longe", "r than the terminal", "bridge 1.01×", "60 %")
	s.clear()
	v.want("begin", "one", "two", "a line that is longe", "r than the terminal", "")

	v = newVT(t, 20, 3)
	s = screenOn(v)
	s.draw([]string{"1", "2", "3", "a\x1b[31m\tb that is too long"}) // too many lines, and text from outside
	v.want("3", "a·[31m·b that is ")
	v.resize(10)
	v.want("3", "a·[31m·b t", "hat is ")
	s.draw([]string{"3", "narrow and wide"})
	v.want("3", "narrow ")
	v.cols = 20
	s.draw([]string{"wide"})
	v.want("wide")
	s.draw(nil)
	v.want("")
	v.cols = 1
	s.draw([]string{"no room", "at all"})
	v.want("", "")
}

func sized(network string, block int, value float64) record.Result {
	return record.Result{Format: record.Format, Trial: fmt.Sprintf("b%03d-%s", block, network), Block: block, Status: record.OK,
		Config: map[string]string{"network": network, "probe": "tcp-stream"}, Values: []record.Value{{Name: "throughput", Unit: "bit/s", Value: value}},
		Start: time.Unix(int64(2*block), 0), Elapsed: 1}
}

// The interval narrows as blocks arrive, and what happens meanwhile is printed above the lines.
func TestProgress(t *testing.T) {
	s := study.Default()
	s.Networks, s.Probes = []study.Use{{Kind: "host"}, {Kind: "bridge"}}, []study.Use{{Kind: "tcp-stream"}}
	s = s.Resolve()
	v := newVT(t, 100, 10)
	var all []record.Result
	p := &Progress{out: v, screen: screenOn(v), ratios: ratios{study: s}, results: func() ([]record.Result, error) { return all, nil }}
	p.Event(experiment.Event{Text: "building the networks"})
	v.want("░░░░░░░░░░░░░░░░░░░░ 0/0  building the networks")
	var widths []float64
	for b := 1; b <= 30; b++ {
		spread := 1 + float64(b%5)/100
		for _, r := range []record.Result{sized("host", b, 1e9), sized("bridge", b, 0.8e9*spread)} {
			all = append(all, r)
			p.ratios.next = time.Time{} // however long it took
			p.Event(experiment.Event{Text: "block", Result: &r, Done: len(all), Total: 60})
		}
		var center, lo, hi float64
		line := string(v.lines[0])
		if _, err := fmt.Sscanf(line, "bridge  tcp-stream %f× [%f, %f]", &center, &lo, &hi); err == nil {
			widths = append(widths, hi-lo)
		} else if !strings.HasPrefix(line, "bridge  tcp-stream 0.8") {
			t.Fatalf("block %d: %q", b, line)
		}
	}
	if len(v.lines) != 2 || len(widths) < 20 || !(widths[len(widths)-1] < widths[0]) {
		t.Errorf("%d lines; widths of the interval: %v", len(v.lines), widths)
	}
	bad := sized("host", 31, 0)
	bad.Status, bad.Reason = record.Failed, "the cable is cut"
	p.Event(experiment.Event{Result: &bad, Done: 60, Total: 62, Warning: "look out"})
	ratio := string(v.lines[2])
	v.want("weir: look out", "b031-host: failed: the cable is cut", ratio, "███████████████████░ 60/62  block")
	p.End()
	v.want("weir: look out", "b031-host: failed: the cable is cut", "")

	v.cols = 30 // too narrow for a ratio and its interval
	p.Event(experiment.Event{Text: "block 31: tcp-stream over bridge", Done: 60, Total: 62})
	v.want("weir: look out", "b031-host: failed: the cable is cut", "███████████████████░ 60/62 ")
}

func TestRatioLines(t *testing.T) {
	r := ratios{rows: [][]string{{"bridge", "tcp-stream 0.9×", ""}, {"vxlan-overlay", "tcp-stream 0.57× [0.5, 0.6]", "udp-rr 1.3×"}}}
	for _, c := range []struct {
		width int
		want  []string
	}{
		{56, []string{"bridge         tcp-stream 0.9×                         ", "vxlan-overlay  tcp-stream 0.57× [0.5, 0.6]  udp-rr 1.3×"}},
		{54, []string{"bridge         tcp-stream 0.9×            ", "vxlan-overlay  tcp-stream 0.57× [0.5, 0.6]"}},
		{41, nil},
		{0, nil},
	} {
		if got := r.lines(c.width); !slices.Equal(got, c.want) {
			t.Errorf("%d columns: %q, want %q", c.width, got, c.want)
		}
	}
	if got := new(ratios).lines(80); got != nil {
		t.Errorf("without results: %q", got)
	}
}

// A run that another process writes is shown once a block, and its last ratios stay.
func TestWatchedRun(t *testing.T) {
	s, err := study.Load([]byte("name: x\nnetworks: [host, bridge]\nprobes: [tcp-stream]\nblocks: 10\nseed: 1\n"), "x")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	w := Watcher{Progress: &Progress{out: &out}, width: 80}
	show := func(l job.Look) string {
		out.Reset()
		w.Show(l)
		return out.String()
	}
	if got := show(job.Look{Run: "r", Fresh: false}); got != "" { // before the study is written
		t.Errorf("%q", got)
	}
	l := job.Look{Run: "r", Fresh: true, Study: s, Total: 20}
	for b := 1; b <= 2; b++ {
		l.Results = append(l.Results, sized("host", b, 1e9), sized("bridge", b, 0.5e9))
		l.Done, l.Text = 2*b, fmt.Sprintf("block %d", b)
		if got, want := show(l), fmt.Sprintf("block %d: %d of 20 trials done", b, 2*b); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		if got := show(l); got != "" {
			t.Errorf("nothing is new: %q", got)
		}
	}
	if w.text != "block 2" {
		t.Errorf("activity %q", w.text)
	}
	l.Last = true
	if got := show(l); got != "bridge  tcp-stream 0.50× (no interval)\n" {
		t.Errorf("%q", got)
	}
}
