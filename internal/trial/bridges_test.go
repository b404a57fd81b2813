package trial

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/record"
)

// A bridged node has only files.
type bridged struct {
	target.Node
	files fstest.MapFS
}

func (q bridged) FS() fs.FS { return q.files }

func TestBridges(t *testing.T) {
	const absent = "x"
	node := func(v4, v6 string) bridged {
		q := bridged{files: fstest.MapFS{}}
		for table, v := range map[string]string{"iptables": v4, "ip6tables": v6, "arptables": "1"} {
			if v4 != absent {
				q.files["proc/sys/net/bridge/bridge-nf-call-"+table] = &fstest.MapFile{Data: []byte(v + "\n")}
			}
		}
		return q
	}
	states := func(host, value string) plan.Plan {
		return plan.Plan{Line: []string{"h1", "h2", "h3"}, Steps: []plan.Step{
			{In: host, Sysctl: &plan.Sysctl{Key: "net.ipv4.ip_forward", Value: "9"}},
			{In: host, Sysctl: &plan.Sysctl{Key: plan.BridgeNF + "iptables", Value: value}}}}
	}
	ends := func(client, server string) [2]plan.End {
		return [2]plan.End{{Node: client + "p1", Host: client}, {Node: server + "p1", Host: server}}
	}
	for _, c := range []struct {
		name   string
		plan   plan.Plan
		ends   [2]plan.End
		h1, h2 bridged
		exists bool
		want   string // bridge.nf
		err    string
	}{
		{"off", states("h1", "0"), ends("h1", "h1"), node("0", "0"), node("1", "1"), false, "off", ""},
		{"on", states("h1", "1"), ends("h2", "h1"), node("1", "1"), node("0", "0"), false, "on", ""},
		{"no module", states("h1", "1"), ends("h1", "h1"), node(absent, absent), node("1", "1"), false, "absent", ""},
		{"one protocol", states("h1", "1"), ends("h1", "h1"), node("1", "0"), node("1", "1"), false, "iptables 1 and ip6tables 0", ""},
		{"something set it", states("h1", "0"), ends("h1", "h2"), node("1", "1"), node("1", "1"), false, "", "bridges in h1: net.bridge.bridge-nf-call-iptables is 1, the plan has 0"},
		{"in between", states("h2", "0"), ends("h1", "h3"), node("1", "1"), node("1", "1"), false, "", "bridges in h2"},
		{"elsewhere", states("h2", "0"), ends("h1", "h1"), node("1", "1"), node("1", "1"), false, "", ""},
		{"no bridge", plan.Plan{}, ends("h1", "h2"), node("1", "1"), node("1", "1"), false, "", ""},
		{"hosts that exist", plan.Plan{}, ends("h1", "h2"), node("1", "1"), node("0", "0"), true, "on, off", ""},
	} {
		site := &target.Site{Topology: topo.Topology{Exists: c.exists}, Nodes: map[string]target.Node{"h1": c.h1, "h2": c.h2}}
		r := record.Result{Observed: map[string]string{}}
		err := (&Setup{Plan: c.plan, Client: c.ends[0], Server: c.ends[1], Site: site}).bridges(&r)
		if got := r.Observed["bridge.nf"]; got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.HasPrefix(err.Error(), c.err) {
			t.Errorf("%s: %q, %v, want %q, %q", c.name, got, err, c.want, c.err)
		}
	}
}
