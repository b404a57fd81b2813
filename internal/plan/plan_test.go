package plan

import (
	"bytes"
	"errors"
	"maps"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// steps has one step of each kind.
var steps = map[string]Step{
	"addr":   {In: "h1", Addr: &Addr{Dev: "eth0", Prefix: netip.MustParsePrefix("198.18.0.1/15")}},
	"bridge": {In: "h1", Link: &Link{Name: "br0", Kind: "bridge", MTU: 1500}},
	"fdb":    {In: "h1", FDB: &FDB{Dev: "vx0", Dst: netip.MustParseAddr("198.18.0.2")}},
	"tap":    {In: "h1", Link: &Link{Name: "relay0", Kind: "tap", MTU: 1455, Master: "br0"}},
	"geneve": {In: "h1", Link: &Link{Name: "gnv0", Kind: "geneve", MTU: 1450, Master: "br0", VNI: 1, Port: 6081, Remote: netip.MustParseAddr("198.18.0.2")}},
	"ipip":   {In: "h1", Link: &Link{Name: "ipip0", Kind: "ipip", MTU: 1480, Local: netip.MustParseAddr("198.18.0.1")}},
	"ipvlan": {In: "h1", Link: &Link{Name: "eth0", Kind: "ipvlan", MTU: 1500, Parent: "eth0", To: "h1p1", Mode: "l2"}},
	"wg": {In: "h1", Link: &Link{Name: "wg0", Kind: "wireguard", MTU: 1440, Port: 51820, Peers: []Peer{
		{In: "h2", Endpoint: netip.MustParseAddrPort("198.18.0.2:51820"), Allowed: []netip.Prefix{netip.MustParsePrefix("10.64.2.0/24"), netip.MustParsePrefix("10.64.3.0/24")}}}}},
	"macvlan": {In: "h1", Link: &Link{Name: "eth0", Kind: "macvlan", MTU: 1500, Parent: "eth0", To: "h1p1"}},
	"offload": {In: "h1", Offload: &Offload{Dev: "eth0", Features: map[string]bool{"b": true, "a": false}}},
	"onlink":  {In: "h1", Route: &Route{Dst: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.MustParseAddr("169.254.1.1"), Dev: "eth0"}},
	"proxy":   {In: "h1", Proxy: &Proxy{Dev: "eth1", Addr: netip.MustParseAddr("10.64.1.1")}},
	"port":    {In: "switch", Delay: &Delay{Dev: "h1", Delay: 500 * time.Microsecond, Bridge: "sw0"}},
	"jitter":  {In: "switch", Delay: &Delay{Dev: "h1", Delay: 500 * time.Microsecond, Jitter: 50 * time.Microsecond, Loss: 0.001, Bridge: "sw0"}},
	"below":   {In: "switch", Rate: &Rate{Dev: "h1", Rate: 1e9, MTU: 1500, Delayed: true}},
	"rate":    {In: "h1", Rate: &Rate{Dev: "eth0", Rate: 1e9, MTU: 1500}},
	"rate0":   {In: "h1", Rate: &Rate{Dev: "eth0"}},
	"route":   {In: "h1", Route: &Route{Dst: netip.MustParsePrefix("10.64.2.0/24"), Via: netip.MustParseAddr("198.18.0.2")}},
	"rule":    {In: "h1", Rule: &Rule{From: netip.MustParsePrefix("10.64.1.1/32"), Table: 1001, Priority: 2048}},
	"norule":  {In: "h1", Rule: &Rule{From: netip.MustParsePrefix("10.64.1.1/32"), Table: 1001, Priority: 2048, Gone: true}},
	"rule6":   {In: "h1", Rule: &Rule{To: netip.MustParsePrefix("fd77::1/128"), Table: 254, Priority: 512}},
	"table":   {In: "h1", Route: &Route{Dst: netip.MustParsePrefix("10.64.0.0/10"), Dev: "eth1", Table: 1001}},
	"direct":  {In: "h1", Route: &Route{Dst: netip.MustParsePrefix("10.64.1.1/32"), Dev: "p1"}},
	"set":     {In: "h1", Set: &Set{Dev: "eth0", MTU: 9000}},
	"sysctl":  {In: "h1", Sysctl: &Sysctl{Key: "net.ipv4.ip_forward", Value: "1"}},
	"nf-off":  {In: "h1", Sysctl: &Sysctl{Key: BridgeNF + "iptables", Value: "0", Optional: true}},
	"nf-on":   {In: "h1", Sysctl: &Sysctl{Key: BridgeNF + "iptables", Value: "1"}},
	"veth":    {In: "h1", Link: &Link{Name: "p1", Kind: "veth", MTU: 1500, Master: "br0", Peer: "eth0", PeerIn: "h1p1"}},
	"gone":    {In: "h1", Addr: &Addr{Dev: "eth0", Prefix: netip.MustParsePrefix("2001:2::1/64"), Gone: true}},
	"setup":   {In: "h1", Set: &Set{Dev: "br-ex", MTU: 1500, Up: true}},
	"enslave": {In: "h1", Set: &Set{Dev: "eth0", MTU: 1500, Master: "br0"}},
	"move":    {In: "h1", Move: &Move{Dev: "p1", To: "h1p1", As: "eth0", MTU: 1450}},
	"file":    {In: "h1", File: &File{Name: "etc/a b", Content: "in {dir}\n"}},
	"exec":    {In: "h1", Exec: &Exec{Argv: []string{"tool", "{dir}/db", "a b"}, Found: "tool"}},
	"keep":    {In: "h1", Exec: &Exec{Argv: []string{"tool", "{{.ID}}"}, Keep: "token"}},
	"kept":    {In: "h2", Exec: &Exec{Argv: []string{"tool", "{token}", "/{cgroup}"}}},
	"adopt":   {In: "h1", Adopt: &Adopt{Pod: "h1p1", PID: []string{"tool", "{dir}"}}},
	"service": {In: "h1", Service: &Service{Name: "d", Argv: []string{"d", "-f"}, Env: []string{"D={dir}"}, Ready: Ready{Argv: []string{"d", "ping"}}}},
	"waits":   {In: "h1", Service: &Service{Name: "e", Argv: []string{"e"}, Ready: Ready{File: "{dir}/e.sock", Timeout: 60}}},
	"says":    {In: "h1", Service: &Service{Name: "f", Argv: []string{"f"}, Ready: Ready{Line: "ready"}}},
	"taps":    {In: "h1", Link: &Link{Name: "p1", Kind: "tap", MTU: 1500, Queues: 2}},
	"vlan":    {In: "h1", Link: &Link{Name: "eth0.42", Kind: "vlan", MTU: 1500, Master: "br0", Parent: "eth0", Tag: 42}},
	"guest":   {In: "h1p1", Guest: &Guest{Host: "h1", Socket: "{dir}/h1p1.sock", Makes: []string{"eth0"}}},
	"vxlan":   {In: "h1", Link: &Link{Name: "vx0", Kind: "vxlan", MTU: 1450, VNI: 1, Port: 4789, Local: netip.MustParseAddr("198.18.0.1")}},
}

func TestShellSteps(t *testing.T) {
	for name, want := range map[string]string{
		"addr":    "ip -n h1 addr add 198.18.0.1/15 dev eth0\n",
		"bridge":  "ip -n h1 link add name br0 mtu 1500 type bridge\nip -n h1 link set br0 up\n",
		"direct":  "ip -n h1 route add 10.64.1.1/32 dev p1\n",
		"taps":    "ip -n h1 tuntap add dev p1 mode tap multi_queue\nip -n h1 link set p1 mtu 1500 up\n",
		"vlan":    "ip -n h1 link add link eth0 name eth0.42 mtu 1500 type vlan id 42\nip -n h1 link set eth0.42 master br0 up\n",
		"guest":   "# h1p1 is a guest from here on; weir reaches it through /run/weir/h1/h1p1.sock\n",
		"gone":    "ip -n h1 addr del 2001:2::1/64 dev eth0\n",
		"setup":   "ip -n h1 link set br-ex mtu 1500 up\n",
		"enslave": "ip -n h1 link set eth0 mtu 1500 master br0\n",
		"move":    "ip -n h1 link set p1 netns h1p1 name eth0\nip -n h1p1 link set eth0 mtu 1450 up\n",
		"file":    "mkdir -p /run/weir/h1\nmkdir -p /run/weir/h1/etc\nprintf %s 'in /run/weir/h1\n' > '/run/weir/h1/etc/a b'\nchmod 644 '/run/weir/h1/etc/a b'\n",
		"exec":    "mkdir -p /run/weir/h1\nip netns exec h1 tool /run/weir/h1/db 'a b'\n",
		"keep":    "mkdir -p /run/weir/h1\ntoken=$(ip netns exec h1 tool '{{.ID}}')\n",
		"kept":    "mkdir -p /run/weir/h2\nip netns exec h2 tool \"$token\" /weir\n",
		"adopt":   "mkdir -p /run/weir/h1\nip netns del h1p1\nip netns attach h1p1 \"$(ip netns exec h1 tool /run/weir/h1)\"\n",
		"service": "mkdir -p /run/weir/h1\ncd /run/weir/h1 && ip netns exec h1 env D=/run/weir/h1 d -f >/run/weir/h1/d.log 2>&1 &\ntimeout 10 sh -c 'until ip netns exec h1 env D=/run/weir/h1 d ping >/dev/null 2>&1; do sleep 0.1; done'\n",
		"waits":   "mkdir -p /run/weir/h1\ncd /run/weir/h1 && ip netns exec h1 e >/run/weir/h1/e.log 2>&1 &\ntimeout 60 sh -c 'until test -e /run/weir/h1/e.sock; do sleep 0.1; done'\n",
		"says":    "mkdir -p /run/weir/h1\ncd /run/weir/h1 && ip netns exec h1 f >/run/weir/h1/f.log 2>&1 &\ntimeout 10 sh -c 'until grep -qF ready /run/weir/h1/f.log; do sleep 0.1; done'\n",
		"fdb":     "bridge -n h1 fdb append 00:00:00:00:00:00 dev vx0 dst 198.18.0.2 self permanent\n",
		"macvlan": "ip -n h1 link add link eth0 name h1p1 mtu 1500 netns h1p1 type macvlan mode bridge\nip -n h1p1 link set h1p1 name eth0 up\n",
		"offload": "ip netns exec h1 ethtool -K eth0 a off b on\n",
		"onlink":  "ip -n h1 route add 0.0.0.0/0 via 169.254.1.1 dev eth0 onlink\n",
		"port":    "tc -n switch qdisc replace dev h1 root handle 1: netem delay 500us limit 32768\n",
		"jitter":  "tc -n switch qdisc replace dev h1 root handle 1: netem delay 500us 50us loss 0.1% rate 1000tbit limit 32768\n",
		"below":   "tc -n switch qdisc replace dev h1 parent 1:1 tbf rate 1gbit burst 31250 limit 1518000 peakrate 1tbit mtu 1518 overhead 24 mpu 84\n",
		"rate":    "tc -n h1 qdisc replace dev eth0 root tbf rate 1gbit burst 31250 limit 1518000 peakrate 1tbit mtu 1518 overhead 24 mpu 84\n",
		"tap":     "ip -n h1 tuntap add dev relay0 mode tap\nip -n h1 link set relay0 mtu 1455 master br0 up\n",
		"geneve":  "ip -n h1 link add name gnv0 mtu 1450 type geneve id 1 remote 198.18.0.2 dstport 6081\nip -n h1 link set gnv0 master br0 up\n",
		"ipip":    "ip -n h1 link add name ipip0 mtu 1480 type ipip local 198.18.0.1\nip -n h1 link set ipip0 up\n",
		"ipvlan":  "ip -n h1 link add link eth0 name h1p1 mtu 1500 netns h1p1 type ipvlan mode l2\nip -n h1p1 link set h1p1 name eth0 up\n",
		"wg": `ip -n h1 link add name wg0 mtu 1440 type wireguard
sh -c 'umask 077; test -s /run/h1.wg0.key || wg genkey >/run/h1.wg0.key'
sh -c 'umask 077; test -s /run/h2.wg0.key || wg genkey >/run/h2.wg0.key'
ip netns exec h1 sh -c 'wg set wg0 listen-port 51820 private-key /run/h1.wg0.key peer "$(wg pubkey </run/h2.wg0.key)" endpoint 198.18.0.2:51820 allowed-ips 10.64.2.0/24,10.64.3.0/24'
ip -n h1 link set wg0 up
`,
		"proxy":  "ip -n h1 neigh add proxy 10.64.1.1 dev eth1\n",
		"rule":   "ip -n h1 rule add from 10.64.1.1/32 lookup 1001 priority 2048\n",
		"norule": "ip -n h1 rule del from 10.64.1.1/32 lookup 1001 priority 2048\n",
		"rule6":  "ip -n h1 -6 rule add to fd77::1/128 lookup 254 priority 512\n",
		"table":  "ip -n h1 route add 10.64.0.0/10 dev eth1 table 1001\n",
		"rate0":  "tc -n h1 qdisc del dev eth0 root\n",
		"route":  "ip -n h1 route add 10.64.2.0/24 via 198.18.0.2\n",
		"set":    "ip -n h1 link set eth0 mtu 9000\n",
		"sysctl": "ip netns exec h1 sysctl -qw net.ipv4.ip_forward=1\n",
		"nf-off": "ip netns exec h1 sysctl -eqw net.bridge.bridge-nf-call-iptables=0\n",
		"nf-on":  "ip netns exec h1 sysctl -qw net.bridge.bridge-nf-call-iptables=1\n",
		"veth":   "ip -n h1 link add name p1 mtu 1500 type veth peer name eth0 mtu 1500 netns h1p1\nip -n h1 link set p1 master br0 up\nip -n h1p1 link set eth0 up\n",
		"vxlan":  "ip -n h1 link add name vx0 mtu 1450 type vxlan id 1 dstport 4789 local 198.18.0.1\nip -n h1 link set vx0 up\n",
	} {
		var got bytes.Buffer
		if err := (Plan{Steps: []Step{steps[name]}}).Shell(&got, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got.String() != want {
			t.Errorf("%s: got\n%swant\n%s", name, &got, want)
		}
	}
}

func TestShellRefuses(t *testing.T) {
	for want, s := range map[string]Step{
		"plan: step 1 in h1: the step is empty": {In: "h1"},
		`plan: step 1 in h1: link x: unknown kind "isdn" (known: bridge, dummy, geneve, ipip, ipvlan, macvlan, netkit, tap, veth, vlan, vxlan, wireguard)`: {In: "h1", Link: &Link{Name: "x", Kind: "isdn"}},
	} {
		var got bytes.Buffer
		if err := (Plan{Steps: []Step{s}}).Shell(&got, nil); err == nil || err.Error() != want {
			t.Errorf("%v: error %v, want %q", s, err, want)
		}
	}
}

// sh(1) reads a quoted word as the word itself.
func FuzzQuote(f *testing.F) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		f.Skip(err)
	}
	for _, s := range []string{"", "h1", "it's", "a b", "$(id)", "`id`", "\\", "\n", "*", "~", "#", "é", "-n", "{a}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.ContainsRune(s, 0) {
			return // an argument cannot contain a zero byte
		}
		out, err := exec.Command(sh, "-c", "printf %s "+ShellWord(s)).Output()
		if err != nil || string(out) != s {
			t.Errorf("%q: sh reads %s as %q, %v", s, ShellWord(s), out, err)
		}
	})
}

func TestEncode(t *testing.T) {
	p := Plan{
		Steps:  []Step{steps["addr"], steps["offload"]},
		Ends:   []End{{Label: Host, Node: "h1", Host: "h1", Addr: netip.MustParseAddr("198.18.0.1"), Dev: "eth0"}},
		Path:   Path{MTU: 1500, Outer: 1500},
		Paths:  map[string]Path{"pod-host": {MTU: 1450}},
		Expect: []Expect{{State: State{In: "h1", Dev: "eth0", MTU: 1500}, Proof: Proof{MustCarry: true, Across: true, Near: Pod}}, {State: State{In: "h1"}, Proof: Proof{NoFragments: true}}},
	}
	const want = `{"in":"h1","addr":{"dev":"eth0","prefix":"198.18.0.1/15"}}
{"in":"h1","offload":{"dev":"eth0","features":{"a":false,"b":true}}}
{"end":{"label":"host","node":"h1","host":"h1","addr":"198.18.0.1","dev":"eth0"}}
{"path":{"mtu":1500,"overhead":0,"outer":1500}}
{"between":"pod-host","path":{"mtu":1450,"overhead":0,"outer":0}}
{"expect":{"in":"h1","dev":"eth0","mtu":1500,"carries":true,"across":true,"near":"pod"}}
{"expect":{"in":"h1","noFragments":true}}
`
	var got bytes.Buffer
	if err := p.Encode(&got); err != nil {
		t.Fatal(err)
	}
	if got.String() != want {
		t.Errorf("got\n%swant\n%s", &got, want)
	}
}

func TestRateParameters(t *testing.T) {
	for _, c := range []struct {
		rate         float64
		mtu          int
		burst, limit int
		peak         string
	}{
		{1e6, 1500, 3084, 1518000, "1tbit"}, // two frames on the wire
		{1e8, 1500, 3125, 1518000, "1tbit"},
		{1e9, 1500, 31250, 1518000, "1tbit"},
		{1e9, 65535, 131154, 65553000, "1tbit"},
		{1e10, 9000, 312500, 9018000, "1tbit"},
		{4e11, 1500, 12500000, 1518000, "4tbit"},
	} {
		r := Rate{Dev: "eth0", Rate: c.rate, MTU: c.mtu}
		if r.Burst() != c.burst || r.Limit() != c.limit || bits(r.Peak()) != c.peak {
			t.Errorf("%+v: burst %d, limit %d, peak %s, want %+v", r, r.Burst(), r.Limit(), bits(r.Peak()), c)
		}
		if r.Burst() < r.Frame() {
			t.Errorf("%+v: a frame of %d bytes never passes a burst of %d", r, r.Frame(), r.Burst())
		}
	}
}

func TestBits(t *testing.T) {
	for want, rate := range map[string]float64{
		"0bit": 0, "1500bit": 1500, "2kbit": 2000, "100mbit": 1e8, "2500mbit": 2.5e9, "10gbit": 1e10, "1tbit": 1e12,
	} {
		if got := bits(rate); got != want {
			t.Errorf("%g: got %s, want %s", rate, got, want)
		}
	}
}

func TestDiff(t *testing.T) {
	var base Plan
	for _, name := range []string{"veth", "vxlan", "macvlan", "addr", "rate", "offload"} {
		base.Steps = append(base.Steps, steps[name])
	}
	without := func(i int) Plan { return Plan{Steps: slices.Delete(slices.Clone(base.Steps), i, i+1)} }
	mtu := Plan{Steps: slices.Clone(base.Steps)}
	for i := range 3 {
		l := *mtu.Steps[i].Link
		l.MTU = 9000
		mtu.Steps[i].Link = &l
	}
	for _, c := range []struct {
		name     string
		from, to Plan
		want     []string
	}{
		{"no change", base, base, nil},
		{"mtu", base, mtu, []string{ // both ends of the veth; the macvlan is in the pod
			`{"in":"h1","set":{"dev":"p1","mtu":9000}}`,
			`{"in":"h1p1","set":{"dev":"eth0","mtu":9000}}`,
			`{"in":"h1","set":{"dev":"vx0","mtu":9000}}`,
		}},
		{"rate gone", base, without(4), []string{`{"in":"h1","rate":{"dev":"eth0","rate":0}}`}},
		{"rate new", without(4), base, []string{`{"in":"h1","rate":{"dev":"eth0","rate":1000000000,"mtu":1500}}`}},
		{"offload gone", base, without(5), []string{`{"in":"h1","offload":{"dev":"eth0","features":{"a":true,"b":false}}}`}},
		{"offload new", without(5), base, []string{`{"in":"h1","offload":{"dev":"eth0","features":{"a":false,"b":true}}}`}},
		{"no rate twice", without(4), Plan{Steps: append(without(4).Steps, steps["rate0"])}, nil},
		{"bridge-nf", Plan{Steps: []Step{steps["nf-off"]}}, Plan{Steps: []Step{steps["nf-on"]}}, []string{`{"in":"h1","sysctl":{"key":"net.bridge.bridge-nf-call-iptables","value":"1"}}`}},
		{"delay", Plan{Steps: []Step{steps["port"]}}, Plan{Steps: []Step{steps["jitter"]}},
			[]string{`{"in":"switch","delay":{"dev":"h1","delay":500000,"jitter":50000,"loss":0.001,"bridge":"sw0"}}`}},
		{"rate below a delay", Plan{Steps: []Step{steps["port"], steps["below"]}}, Plan{Steps: []Step{steps["port"]}},
			[]string{`{"in":"switch","rate":{"dev":"h1","rate":0,"delayed":true}}`}},
		{"set", base, Plan{Steps: append(slices.Clone(base.Steps), steps["set"])}, []string{`{"in":"h1","set":{"dev":"eth0","mtu":9000}}`}},
	} {
		got, err := Diff(c.from, c.to)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		var lines []string
		for _, s := range got {
			lines = append(lines, s.String())
		}
		if !slices.Equal(lines, c.want) {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, strings.Join(lines, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

func TestDiffRefuses(t *testing.T) {
	addr := Plan{Steps: []Step{steps["addr"]}}
	noMTU := Plan{Steps: []Step{{In: "h1", Link: &Link{Name: "br0", Kind: "bridge"}}}}
	for _, c := range []struct {
		name     string
		from, to Plan
		want     string
	}{
		{"more", Plan{}, addr, "only one plan has this step: " + steps["addr"].String()},
		{"less", addr, Plan{}, "only one plan has this step: " + steps["addr"].String()},
		{"moved", Plan{Steps: []Step{steps["move"]}}, Plan{Steps: []Step{{In: "h1", Move: &Move{Dev: "p1", To: "h1p1", As: "eth0", MTU: 9000}}}}, "more than MTU, rate, offloads, delay and bridge-nf differs"},
		{"a daemon", Plan{Steps: []Step{steps["service"]}}, Plan{Steps: []Step{steps["waits"]}}, "a daemon would run or be configured differently: "},
		{"a file of it", Plan{Steps: []Step{steps["file"]}}, Plan{Steps: []Step{{In: "h1", File: &File{Name: "etc/a b"}}}}, "a daemon would run or be configured differently: "},
		{"other", addr, Plan{Steps: []Step{steps["route"]}}, "more than MTU, rate, offloads, delay and bridge-nf differs"},
		{"a delay on another port", Plan{Steps: []Step{steps["port"]}}, Plan{Steps: []Step{{In: "switch", Delay: &Delay{Dev: "h2", Bridge: "sw0"}}}}, "more than MTU, rate, offloads, delay and bridge-nf differs"},
		{"ends", Plan{}, Plan{Ends: []End{{Node: "h1"}}}, "the ends differ"},
		{"bridge-nf gone", Plan{Steps: []Step{steps["nf-off"]}}, Plan{}, "only one plan has this step: "},
		{"another sysctl", Plan{Steps: []Step{steps["sysctl"]}}, Plan{Steps: []Step{steps["nf-on"]}}, "more than MTU, rate, offloads, delay and bridge-nf differs"},
		{"mtu unknown", Plan{Steps: []Step{steps["bridge"]}}, noMTU, "the MTU of br0 in h1 is 1500 in one plan and unset in the other"},
	} {
		if got, err := Diff(c.from, c.to); !errors.Is(err, ErrRebuild) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, error %v, want %q", c.name, got, err, c.want)
		}
	}
}

// Diff finds each kind of step equal to itself and different from all others.
func TestDiffDistinguishesSteps(t *testing.T) {
	for _, a := range slices.Sorted(maps.Keys(steps)) {
		for _, b := range slices.Sorted(maps.Keys(steps)) {
			got, err := Diff(Plan{Steps: []Step{steps[a]}}, Plan{Steps: []Step{steps[b]}})
			none := err == nil && len(got) == 0
			if want := a == b; none != want && !(steps[a].Set != nil && steps[b].Set == nil) {
				t.Errorf("%s, %s: steps %v, error %v", a, b, got, err)
			}
		}
	}
}

// Traffic between two ends concerns the devices that it passes, and no others.
func TestConcerns(t *testing.T) {
	pod := func(host, node string) End { return End{Label: Pod, Host: host, Node: node} }
	h1, h2 := End{Label: Host, Host: "h1", Node: "h1"}, End{Label: Host, Host: "h2", Node: "h2"}
	a, a2, b, c := pod("h1", "h1p1"), pod("h1", "h1p2"), pod("h2", "h2p1"), pod("h3", "h3p1")
	for _, x := range []struct {
		name   string
		expect Expect
		a, b   End
		want   bool
	}{
		{"an end", Expect{State: State{In: "h1p1"}}, a, b, true},
		{"the host of an end", Expect{State: State{In: "h2"}}, a, b, true},
		{"another host", Expect{State: State{In: "h3"}}, a, b, false},
		{"on one host", Expect{State: State{In: "h1"}}, a, a2, true},
		{"across, on one host", Expect{State: State{In: "h1"}, Proof: Proof{Across: true}}, a, a2, false},
		{"across", Expect{State: State{In: "h1"}, Proof: Proof{Across: true}}, a, b, true},
		{"between", Expect{State: State{In: "h2"}, Proof: Proof{Side: []string{"h1", "h2"}}}, a, c, true},
		{"between, reversed", Expect{State: State{In: "h2"}, Proof: Proof{Side: []string{"h1", "h2"}}}, c, a, true},
		{"beyond", Expect{State: State{In: "h2"}, Proof: Proof{Side: []string{"h1", "h2"}}}, a, b, false},
		{"a pod here", Expect{State: State{In: "h1"}, Proof: Proof{Near: Pod}}, a, b, true},
		{"no host here", Expect{State: State{In: "h1"}, Proof: Proof{Near: Host}}, a, h2, false},
		{"a host here", Expect{State: State{In: "h2"}, Proof: Proof{Near: Host}}, a, h2, true},
		{"a pod there", Expect{State: State{In: "h2"}, Proof: Proof{Near: Host, Far: Pod}}, a, h2, true},
		{"no host there", Expect{State: State{In: "h2"}, Proof: Proof{Near: Host, Far: Host}}, a, h2, false},
		{"a pod on a side", Expect{State: State{In: "h2"}, Proof: Proof{Side: []string{"h1"}, Near: Pod}}, h2, a, true},
		{"no pod on a side", Expect{State: State{In: "h2"}, Proof: Proof{Side: []string{"h1"}, Near: Pod}}, h2, h1, false},
		{"not left", Expect{State: State{In: "h1"}, Proof: Proof{Side: []string{"h1"}}}, a, a2, false},
	} {
		if got := x.expect.Concerns(x.a, x.b); got != x.want {
			t.Errorf("%s: %v, want %v", x.name, got, x.want)
		}
	}
}
