package evidence

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/sample"
)

// Evidence comes from results directories, which can be anyone's. Evidence that was read can be written, and reads the same again.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"format":1,"protocol":"udp","seconds":0.1,"sender":{"node":"h1p1","host":"x","cpus":[0]},"path":[{"in":"h1p1","dev":"eth0","out":true,"data":{"packets":10,"bytes":100},"queue":{"kind":"tbf"}}],"nodes":{"h1":{},"h1p1":{"ip.InReceives":5}},"settings":"b001"}`))
	f.Add([]byte(`{"format":1,"path":[null],"nodes":{"":null},"hosts":null}`))
	f.Add([]byte(`{"format":1,"protocol":"<\"\\","seconds":01,"carriers":{"a":["b"]},"sender":{"cpus":[1e1],"tcp":{"busy":-1e-7}},"nodes":{"a":{"x.InDelivers":1,"x.InDelivers":1e300},"a":{}},"read":{"a":null}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		trial, err := Parse(b)
		if err != nil {
			return
		}
		for _, h := range trial.Path {
			_ = h.Data.Size()
		}
		again, err := json.Marshal(trial)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(again); err != nil {
			t.Errorf("%s: %v", again, err)
		}
		want := needed(*trial)
		for _, src := range [][]byte{b, again} {
			var p Parser
			if got, err := p.Parse(src); err != nil || !bytes.Equal(needed(*got), want) {
				t.Errorf("%s: %v\n%s\nwant\n%s", src, err, needed(*got), want)
			}
		}
		if p := new(Parser); !p.trial(again, new(Trial)) {
			t.Errorf("left to encoding/json: %s", again)
		}
	})
}

// needed is what findings need of a trial, as bytes.
func needed(t Trial) []byte {
	t.Read, t.Path = nil, slices.Concat([]Hop{}, t.Path)
	for _, of := range []*map[string]sample.Counters{&t.Nodes, &t.Hosts} {
		same := map[string]sample.Counters{}
		for at, c := range *of {
			same[at] = sample.Counters{}
			for name, v := range c {
				if slices.Contains(kept, name[strings.LastIndexByte(name, '.')+1:]) {
					same[at][name] = v
				}
			}
		}
		*of = same
	}
	b, err := json.Marshal(t)
	if err != nil {
		panic(err)
	}
	return b
}

// Settings, too.
func FuzzSettings(f *testing.F) {
	f.Add([]byte(`{"format":1}`))
	f.Add([]byte(`{"format":1,"nodes":{"h1":null}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ParseSettings(b)
		if err != nil {
			return
		}
		if again, err := json.Marshal(s); err != nil {
			t.Fatal(err)
		} else if _, err := ParseSettings(again); err != nil {
			t.Errorf("%s: %v", again, err)
		}
	})
}
