package evidence

import (
	"encoding/json"
	"reflect"
	"testing"
	"unsafe"
)

// A Parser reads what json reads, and holds equal names of two trials once.
func TestParser(t *testing.T) {
	const src = `{"format":1,"protocol":"udp","seconds":0.1,"window":0.05,"sender":{"node":"h1p1","host":"x","cpus":[0]},"receiver":{"node":"h2p1","host":"x"},` +
		`"path":[{"in":"h1p1","dev":"eth0","out":true,"data":{"packets":10,"bytes":100},"back":{"packets":0,"bytes":0},"queue":{"kind":"tbf","packets":1,"bytes":2}}],` +
		`"nodes":{"h1":{},"h1p1":{"ip.InReceives":5}},"hosts":{"x":{"softnet.processed":7}},"read":{"h1p1":["netdev","snmp"]},"settings":"b001"}`
	var want Trial
	if err := json.Unmarshal([]byte(src), &want); err != nil {
		t.Fatal(err)
	}
	var p Parser
	var names [2]*byte
	for i := range names {
		got, err := p.Parse([]byte(src))
		if err != nil || !reflect.DeepEqual(*got, want) {
			t.Fatalf("%+v, %v, want %+v", got, err, want)
		}
		for name := range got.Nodes["h1p1"] {
			names[i] = unsafe.StringData(name)
		}
	}
	if names[0] != names[1] {
		t.Error("a name is held twice")
	}
	if _, err := p.Parse([]byte(`{"format":2}`)); err == nil {
		t.Error("another format is accepted")
	}
}
