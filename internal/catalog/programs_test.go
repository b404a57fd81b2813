package catalog

import (
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/topo"
)

// A network of the lab can prefer the programs of a directory; one that weir finds, one of virtual machines, and a path that
// depends on where weir runs, cannot.
func TestPrograms(t *testing.T) {
	for src, want := range map[string]string{
		"networks: [{use: host, programs: /a}]\nprobes: [tcp-rr]\n":                        "",
		"networks: [{use: host, programs: a}]\nprobes: [tcp-rr]\n":                         "absolute path",
		"networks: [{use: host, programs: [/a]}]\nprobes: [tcp-rr]\n":                      "absolute path",
		"networks: [{use: vm-vlan, programs: /a}]\nprobes: [tcp-rr]\n":                     "virtual machines",
		"target: {ssh: [a, b]}\nnetworks: [{use: host, programs: /a}]\nprobes: [tcp-rr]\n": "leave it out",
	} {
		s, err := study.Load([]byte("name: s\nquestion: q?\n"+src), "s.yaml")
		if err != nil {
			t.Fatalf("%s: %v", src, err)
		}
		p, err := Prepare(s, topo.Kernel{})
		switch {
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %s", src, err, want)
		case want == "" && (err != nil || p.Networks["host"].Topology.Programs != "/a"):
			t.Errorf("%s: %v", src, err)
		}
	}
}
