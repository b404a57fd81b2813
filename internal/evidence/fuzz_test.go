package evidence

import (
	"encoding/json"
	"testing"
)

// Evidence comes from results directories, which can be anyone's. Evidence that was read can be written, and reads the same again.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"format":1,"protocol":"udp","seconds":0.1,"sender":{"node":"h1p1","host":"x","cpus":[0]},"path":[{"in":"h1p1","dev":"eth0","out":true,"data":{"packets":10,"bytes":100},"queue":{"kind":"tbf"}}],"nodes":{"h1":{},"h1p1":{"ip.InReceives":5}},"settings":"b001"}`))
	f.Add([]byte(`{"format":1,"path":[null],"nodes":{"":null},"hosts":null}`))
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
	})
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
