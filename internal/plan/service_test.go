package plan

import (
	"slices"
	"strings"
	"testing"
)

// Lines of `weave status connections`. All but the third are from recordings of 2.8.1.
const weaveLines = `-> 198.18.0.2:6783       established fastdp 02:00:00:00:00:02(h2) mtu=1450
<- 198.18.0.3:41234      established sleeve 02:00:00:00:00:03(h3) mtu=1438
-> 198.18.0.4:6783       failed      connect: no route to host, retry: 2026-01-02 03:04:05 +0000 UTC
-> 198.18.0.5:6783       established encrypted   fastdp 02:00:00:00:00:05(h5) encrypted=truemtu=1416
`

func TestOutput(t *testing.T) {
	for _, c := range []struct {
		out, want string
		lines     []string
	}{
		{weaveLines, "", nil},
		{weaveLines, "", []string{"established sleeve ", "established fastdp "}},
		{weaveLines, "", []string{"established encrypted   fastdp "}},
		{weaveLines, `"established fastdp "`, []string{"established fastdp ", "established fastdp "}}, // one has fallen back
		{weaveLines, `"pending"`, []string{"pending"}},
		{"", `status connections: no line, or too few, with "established fastdp " in ""`, []string{"established fastdp "}},
		{"one line", `"line"`, []string{"one", "line"}},
		{"10.0.0.0/8 dev eth0 \n", "", []string{"dev eth0 "}}, // as ip(8) ends its lines
		{"10.0.0.0/8 dev eth01 \n", `"dev eth0 "`, []string{"dev eth0 "}},
	} {
		err := Output{Argv: []string{"weave", "status", "connections"}, Lines: c.lines}.Check(c.out)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q: error %v, want %q", c.lines, err, c.want)
		}
	}
}

// Check needs a separate line for each wanted one, so it fails if more are wanted than out has.
func FuzzOutput(f *testing.F) {
	f.Add(weaveLines, "established", 3)
	f.Add("", "", 1)
	f.Fuzz(func(t *testing.T, out, line string, n int) {
		n = min(max(n, 0), 100)
		have := 0
		for l := range strings.SplitSeq(strings.Trim(out, "\n"), "\n") {
			if strings.Contains(l, line) {
				have++
			}
		}
		err := Output{Argv: []string{"x"}, Lines: slices.Repeat([]string{line}, n)}.Check(out)
		if (err == nil) != (n <= have) {
			t.Errorf("%d of %d lines: %v", n, have, err)
		}
	})
}

// Programs includes those that an Await or an expectation runs.
func TestProgramsOfOutputs(t *testing.T) {
	o := Output{Argv: []string{"ip", "route"}, Lines: []string{"x"}}
	p := Plan{
		Steps:  []Step{{In: "a", Await: &Await{Output: o}}},
		Expect: []Expect{{State: State{In: "a", Output: &Output{Argv: []string{"curl"}}}}, {State: State{In: "a", MTU: 1}}},
	}
	if got := p.Programs(); !slices.Equal(got, []string{"curl", "ip"}) {
		t.Errorf("programs: %v", got)
	}
}

// Programs lists every program except weir itself, once.
func TestPrograms(t *testing.T) {
	p := Plan{Steps: []Step{steps["service"], steps["exec"], steps["exec"], steps["says"], steps["veth"],
		{In: "h1", Adopt: &Adopt{PID: []string{"ask"}}},
		{In: "h2", Exec: &Exec{Argv: []string{"weir", "x"}}}}}
	if got := p.Programs(); !slices.Equal(got, []string{"ask", "d", "f", "tool"}) {
		t.Errorf("programs: %v", got)
	}
	if got := p.Daemons(); !slices.Equal(got, []string{"h1"}) {
		t.Errorf("places with daemons: %v", got)
	}
}
