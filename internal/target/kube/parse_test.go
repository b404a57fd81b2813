package kube

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/target/kube/fakekube"
)

func readNodes(t *testing.T, all ...fakekube.Object) (ns []node) {
	t.Helper()
	b, err := json.Marshal(all)
	if err == nil {
		err = json.Unmarshal(b, &ns)
	}
	if err != nil {
		t.Fatal(err)
	}
	return ns
}

func tainted(n fakekube.Object, taints ...fakekube.Object) fakekube.Object {
	n["spec"] = fakekube.Object{"taints": taints}
	return n
}

func TestChoose(t *testing.T) {
	cordoned := fakekube.Node("c2", "")
	cordoned["spec"] = fakekube.Object{"unschedulable": true}
	ns := readNodes(t, fakekube.Node("c1", "c"), fakekube.Node("a2", "a"), fakekube.Node("a1", "a"), fakekube.Node("b1", "b"), cordoned,
		tainted(fakekube.Node("m1", ""), fakekube.Object{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}, fakekube.Object{"key": "p", "effect": "PreferNoSchedule"}))
	for _, c := range []struct{ names, want, notes string }{
		{"", "a1 b1 c1 a2", ""},
		{"a2 m1", "a2 m1", "node m1 has the taint node-role.kubernetes.io/control-plane:NoSchedule; weir's pods tolerate it because the node is named"},
		{"c2", "c2", "node c2 has the taint node.kubernetes.io/unschedulable:NoSchedule; weir's pods tolerate it because the node is named"},
	} {
		ms, notes, err := choose(ns, strings.Fields(c.names))
		var got []string
		for i, m := range ms {
			got = append(got, m.Name)
			if m.number != i+1 {
				t.Errorf("%s has number %d, want %d", m.Name, m.number, i+1)
			}
		}
		if err != nil || strings.Join(got, " ") != c.want || strings.Join(notes, "\n") != c.notes {
			t.Errorf("%q: %q, %q, %v", c.names, got, notes, err)
		}
	}
}

// Nodes whose taints the user's tolerations cover can be chosen.
func TestTolerations(t *testing.T) {
	k := &Target{}
	k.Tolerations = []string{"net=yes:NoSchedule", "gpu", "disk:NoExecute"}
	for _, c := range []struct {
		taint
		want bool
	}{
		{taint{"net", "yes", "NoSchedule"}, true}, {taint{"net", "no", "NoSchedule"}, false}, {taint{"net", "yes", "NoExecute"}, false},
		{taint{"gpu", "a100", "NoExecute"}, true}, {taint{"disk", "", "NoExecute"}, true}, {taint{"disk", "", "NoSchedule"}, false}, {taint{"other", "", "NoSchedule"}, false},
	} {
		ns := readNodes(t, tainted(fakekube.Node("n", ""), fakekube.Object{"key": c.Key, "value": c.Value, "effect": c.Effect}))
		if ms, _, err := choose(ns, nil, k.tolerations()...); (err == nil) != c.want || (len(ms) == 1) != c.want {
			t.Errorf("%v: %d machines, %v", c.taint, len(ms), err)
		}
	}
}

func TestWords(t *testing.T) {
	for stderr, want := range map[string]string{
		"":                                      "",
		"Warning: x is deprecated\nerror: no\n": "error: no",
		"Warning: only this\n":                  "Warning: only this",
		"I0101 01:02:03.000004       1 x.go:1] log\nError from server (Forbidden): error when creating \"STDIN\": pods\r\n": "Error from server (Forbidden): pods",
		"a\x1b[31mred\x00\xff": `a\x1b[31mred\x00\xff`,
	} {
		if got := words(stderr); got != want {
			t.Errorf("%q: %q, want %q", stderr, got, want)
		}
	}
	if got := words(strings.Repeat("é", maxWords)); len(got) > maxWords+3 || !strings.HasSuffix(got, "é…") {
		t.Errorf("%d bytes, ending %q", len(got), got[len(got)-6:])
	}
}

// The buffer of a call is bounded and keeps the end.
func TestCapped(t *testing.T) {
	c := capped{max: 10}
	for range 100 {
		if n, err := c.Write([]byte("abc")); n != 3 || err != nil {
			t.Fatal(n, err)
		}
	}
	if _, err := c.Write([]byte("0123456789abcdefghij")); err != nil || c.buf.Len() > 10 || !strings.HasSuffix(c.buf.String(), "fghij") {
		t.Errorf("%q, %v", c.buf.String(), err)
	}
}

// What a program prints is bounded also where io.Copy moves it.
func TestCallIsBounded(t *testing.T) {
	const much = 100_000
	l, c := &limited{max: 10}, &capped{max: 10}
	if _, err := io.Copy(l, strings.NewReader(strings.Repeat("x", much))); !errors.Is(err, errTooMuch) || !errors.Is(l.err, errTooMuch) || l.buf != nil {
		t.Errorf("%d bytes, %v", len(l.buf), err)
	}
	if n, err := io.Copy(c, strings.NewReader(strings.Repeat("x", much))); n != much || err != nil || c.buf.Len() > 10 {
		t.Errorf("%d bytes, %v", c.buf.Len(), err)
	}
}

// What a call keeps takes no more memory than its bound, also just below it.
func TestCallTakesItsBound(t *testing.T) {
	l := limited{max: 1000}
	for range 99 {
		if n, err := l.Write(make([]byte, 10)); n != 10 || err != nil {
			t.Fatal(n, err)
		}
	}
	if len(l.buf) != 990 || cap(l.buf) > 1000 {
		t.Errorf("%d bytes take %d, want at most 1000", len(l.buf), cap(l.buf))
	}
}

func TestCNI(t *testing.T) {
	var sets list[daemonSet]
	if err := json.Unmarshal([]byte(`{"items":[{"spec":{"template":{"spec":{"containers":[{"image":"quay.io/calico/node:v3"},{"image":"kube-proxy"}]}}}}]}`), &sets); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		sets    []daemonSet
		devices []string
		want    string
	}{
		{nil, nil, "unknown CNI"},
		{nil, []string{"lo", "eth0", "cni0", "vx0"}, "unknown CNI"},
		{nil, []string{"eth0", "flannel.1"}, "Flannel (device flannel.1)"},
		{sets.Items, []string{"flannel.1"}, "Calico (image quay.io/calico/node:v3), Flannel (device flannel.1)"},
	} {
		if got := cni(c.sets, c.devices); got != c.want {
			t.Errorf("%v: %s, want %s", c.devices, got, c.want)
		}
	}
}

func TestProxyMode(t *testing.T) {
	for conf, want := range map[string]string{
		"":                                    "",
		"mode: ipvs":                          "",
		"kind: KubeProxyConfiguration\n":      "iptables",
		"kind: KubeProxyConfiguration\nmode:": "iptables",
		"mode: \"\"\nkind: KubeProxyConfiguration\n":           "iptables",
		"kind: KubeProxyConfiguration\nmode: ipvs\n":           "ipvs",
		"kind: KubeProxyConfiguration\nmode: \"nftables\"\r\n": "nftables",
		"kind: KubeProxyConfiguration\nx:\n  mode: no\n":       "iptables",
	} {
		if got := proxyMode(conf); got != want {
			t.Errorf("%q: %q, want %q", conf, got, want)
		}
	}
}

func TestNodePorts(t *testing.T) {
	for _, c := range []struct {
		ports []port
		want  string
	}{
		{nil, "no ports"},
		{[]port{{Port: 1, Node: 2}, {Port: 1, Node: 2}}, ""},
		{[]port{{Port: 1, Node: 2}, {Port: 1, Node: 3}}, "the node ports 2 and 3"},
		{[]port{{Port: 1}}, "the node ports 0 and 0"},
	} {
		if _, err := nodePorts(c.ports); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %s", c.ports, err, c.want)
		}
	}
}

// oneVisibleLine reports whether a terminal shows s as it is.
func oneVisibleLine(s string) bool { return foreign.Text(s) == s && !strings.ContainsAny(s, "\t\n") }

// Whatever the cluster says about nodes, pods and events, texts for people are visible, on one line and bounded.
func FuzzObjects(f *testing.F) {
	f.Add([]byte(`{"items":[{"metadata":{"name":"n","labels":{"topology.kubernetes.io/zone":"z"}},"spec":{"taints":[{"key":"k","value":"v","effect":"NoSchedule"}]},"status":{"conditions":[{"type":"Ready","status":"True"}],"addresses":[{"type":"InternalIP","address":"::1"}]}}]}`))
	f.Add([]byte(`{"items":[{"metadata":{"name":"p","deletionTimestamp":"x","ownerReferences":[{"name":"j"}]},"status":{"phase":"Failed","reason":"Evicted","message":"\u001b[2J","podIPs":[{"ip":"10.0.0.1"},{"ip":"x"}],"containerStatuses":[{"state":{"waiting":{"reason":"ErrImagePull"}}},{"state":{"terminated":{"exitCode":1,"signal":9}}}],"conditions":[{"type":"DisruptionTarget","status":"True"}]}}]}`))
	f.Add([]byte(`{"items":[{"type":"Warning","reason":"FailedCreate","message":"forbidden","lastTimestamp":"2"},null]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		check := func(s string) {
			if len(s) > 20*maxWords || !oneVisibleLine(s) {
				t.Errorf("%q", s)
			}
		}
		var nodes list[node]
		if decode(b, &nodes) == nil {
			ms, notes, err := choose(nodes.Items, nil)
			if (err == nil) == (len(ms) == 0) {
				t.Errorf("%d machines, %v", len(ms), err)
			}
			if err != nil {
				check(err.Error())
			}
			for _, n := range nodes.Items {
				check(n.unfit())
			}
			check(strings.Join(notes, ""))
		}
		var pods list[pod]
		if decode(b, &pods) == nil {
			for _, p := range pods.Items {
				runs, why, _ := p.state()
				check(why)
				if runs && (why != "" || len(p.addrs()) == 0) {
					t.Errorf("%+v runs", p)
				}
				if slices.ContainsFunc(p.addrs(), func(a netip.Addr) bool { return !a.IsValid() }) {
					t.Errorf("invalid address of %+v", p)
				}
			}
		}
		var events list[event]
		if decode(b, &events) == nil {
			check(latest(events.Items))
		}
		if _, err := decodeStored(b); err != nil {
			check(err.Error())
		}
	})
}

func FuzzWords(f *testing.F) {
	f.Add("Warning: x\nError from server (NotFound): pods \"a\" not found\n")
	f.Fuzz(func(t *testing.T, stderr string) {
		if got := words(stderr); len(got) > maxWords+len("…") || !oneVisibleLine(got) {
			t.Errorf("%q", got)
		}
		if got := proxyMode(stderr); len(got) > maxWords+len("…") || !oneVisibleLine(got) {
			t.Errorf("%q", got)
		}
	})
}

// A pod whose claim waits for its volume can still start; one that no node has room for cannot.
func TestUnschedulable(t *testing.T) {
	for message, want := range map[string]bool{
		"0/2 nodes are available: 2 Insufficient cpu.": true,
		"0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: 0/2 nodes are available: not helpful for scheduling.": false,
	} {
		var p pod
		doc := fmt.Sprintf(`{"status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": %q}]}}`, message)
		if err := json.Unmarshal([]byte(doc), &p); err != nil {
			t.Fatal(err)
		}
		if runs, why, final := p.state(); runs || final != want || !strings.HasPrefix(why, "Unschedulable: 0/2") {
			t.Errorf("%s: runs %v, %q, final %v", message, runs, why, final)
		}
	}
}
