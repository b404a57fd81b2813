package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/explain"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/nstest"
)

// A second tunnel beside vx0 of scripts/hosts, and equal to it.
const secondTunnel = `for m in a:1:2 b:2:1; do
	IFS=: read -r name own other << END
$m
END
	ssh $name "ip link add vx1 type vxlan id 8 local 10.208.0.$own remote 10.208.0.$other dev eth0 dstport 4789 && ip addr add 10.210.0.$own/24 dev vx1 && ip link set vx1 up"
done
`

// plantSSH measures an effect between two machines beside an equal tunnel without it, and judges what weir says.
func plantSSH(t *testing.T, p planted) said {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "weir-planted.") // the machines have their own /tmp
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	var probes []string
	for _, u := range p.Probes {
		probes = append(probes, u.Kind)
	}
	script := "set -e\n" + secondTunnel
	for _, machine := range slices.Sorted(maps.Keys(p.On)) {
		file := machine + ".sh"
		if err := os.WriteFile(filepath.Join(dir, file), []byte(p.On[machine]+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		script += fmt.Sprintf("ssh %s sh -s < %s\n", machine, file)
	}
	script += fmt.Sprintf(`"$0" run --ssh a,b -n '{use: via, name: clean, dev: vx0},{use: via, name: %s, dev: vx1}' -p %s --blocks 10 --warmup 20ms --duration 100ms --keep-disturbed -o out || [ $? != 2 ]
"$0" explain out --json > explanation
`, p.Name, strings.Join(probes, ","))
	if out, status := onHosts(t, dir, script); status != 0 {
		t.Fatalf("%s: status %d\n%s", p.Name, status, out)
	}
	b, err := os.ReadFile(filepath.Join(dir, "explanation"))
	if err != nil {
		t.Fatal(err)
	}
	var x explain.Explanation
	if err := json.Unmarshal(b, &x); err != nil {
		t.Fatalf("%s: %v", p.Name, err)
	}
	if *keepPlanted != "" {
		if err := os.CopyFS(filepath.Join(*keepPlanted, p.Name), os.DirFS(filepath.Join(dir, "out"))); err != nil {
			t.Fatal(err)
		}
	}
	n := explain.Network{Name: p.Name}
	if i := slices.IndexFunc(x.Networks, func(n explain.Network) bool { return n.Name == p.Name }); i >= 0 {
		n = x.Networks[i]
	}
	return p.judge(n)
}

// What weir explain says about effects that were planted between two machines is true. `make planted` plants all of them;
// otherwise one effect and one decoy stand for all.
func TestPlantedSSH(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	if facts.Find("nft") == "" || facts.Find("tc") == "" || os.Geteuid() != 0 {
		t.Skip("nft or tc is missing, or this is not root: install the packages nftables and iproute2, and run as root")
	}
	fail := nstest.Judge(t)
	var done []said
	var wrong []string
	for _, p := range chosen(allEffects(t, "testdata/planted-ssh.yaml"), "ssh-ingress-drop", "ssh-unmatched") {
		s := plantSSH(t, p)
		if len(s.wrong) > 0 && !*allPlanted { // one interval in twenty does not hold
			s = plantSSH(t, p)
		}
		t.Logf("%s %s (%s)\n  %s", s.outcome(), s.Name, s.About, strings.Join(s.texts, "\n  "))
		done = append(done, s)
		for _, w := range s.wrong {
			wrong = append(wrong, s.Name+": a false statement: "+w)
		}
	}
	writePlantedPage(t, "planted-ssh.md", "What weir says about effects between machines",
		"Each effect of cmd/weir/testdata/planted-ssh.yaml was planted in one of two equal tunnels between two machines that weir reached over SSH", done)
	if wrong != nil {
		fail("%s", strings.Join(wrong, "\n"))
	}
}
