package evidence

import (
	"fmt"
	"reflect"
	"testing"
	"unsafe"
)

// A Parser reads what json reads, except for what no finding needs, and holds equal names and queues of two trials once.
func TestParser(t *testing.T) {
	const src = `{"format":1,"protocol":"udp","seconds":0.1,"window":0.05,"sender":{"node":"h1p1","host":"x","cpus":[0]},"receiver":{"node":"h2p1","host":"x"},` +
		`"path":[{"in":"h1p1","dev":"eth0","out":true,"data":{"packets":10,"bytes":100},"back":{"packets":0,"bytes":0},"queue":{"kind":"tbf","packets":1,"bytes":2}}],` +
		`"nodes":{"h1":{},"h1p1":{"ip.InReceives":5%s}},"hosts":{"x":{"softnet.cpu0.processed":7%s}}%s,"settings":"b001"}`
	want, err := Parse(fmt.Appendf(nil, src, "", "", ""))
	if err != nil {
		t.Fatal(err)
	}
	var p Parser
	var trials [2]*Trial
	var names [2]*byte
	for i := range trials {
		trials[i], err = p.Parse(fmt.Appendf(nil, src, `,"netstat.OutOctets":8`, `,"cpu0.user":1`, `,"read":{"h1p1":["netdev","snmp"]}`))
		if err != nil || !reflect.DeepEqual(trials[i], want) {
			t.Fatalf("%+v, %v, want %+v", trials[i], err, want)
		}
		for name := range trials[i].Nodes["h1p1"] {
			names[i] = unsafe.StringData(name)
		}
	}
	if names[0] != names[1] || trials[0].Path[0].Queue != trials[1].Path[0].Queue {
		t.Error("a name or a queue is held twice")
	}
	if _, err := p.Parse([]byte(`{"format":2}`)); err == nil {
		t.Error("another format is accepted")
	}
}
