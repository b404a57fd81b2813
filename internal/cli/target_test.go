package cli

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/study"
)

// asked returns the study of `weir run` with these arguments.
func asked(args ...string) (s study.Study, err error) {
	var f studyFlags
	c := &cobra.Command{Use: "run", SilenceErrors: true, SilenceUsage: true, RunE: func(c *cobra.Command, as []string) error {
		s, err = f.study(c, as)
		return err
	}}
	f.register(c)
	c.SetArgs(args)
	return s, c.Execute()
}

func TestTargetFlags(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.yaml")
	if err := os.WriteFile(file, []byte("networks: [host]\nprobes: [ping]\nhosts: 3\ntarget: {kube: {namespace: a, nodes: [n1, n2, n3]}, ports: 1-9}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args     string
		networks string
		hosts    int
		target   study.Target
	}{
		{"--ssh a,b", "host", 2, study.Target{SSH: []string{"a", "b"}}},
		{"--ssh a,b,c=10.0.0.1 -n host,host --port 1-9", "host host#2", 3, study.Target{SSH: []string{"a", "b", "c=10.0.0.1"}, Ports: "1-9"}},
		{"--kube", "host pod service", 2, study.Target{Kube: &study.Kube{}}},
		{"--kube --nodes n1", "pod service", 1, study.Target{Kube: &study.Kube{Nodes: study.Nodes{"n1"}}}},
		{"--kube --nodes n1 -n pod --pods 2", "pod", 1, study.Target{Kube: &study.Kube{Nodes: study.Nodes{"n1"}}}},
		{"--kube --nodes all -p ping", "host pod service", 2, study.Target{Kube: &study.Kube{Nodes: study.Nodes{"all"}}}},
		{"--kube --context c -N n --image i --keep", "host pod service", 2, study.Target{Kube: &study.Kube{Context: "c", Namespace: "n", Image: "i", Keep: true}}},
		{"--kube -N n --image i --pull-secret s --tolerations a=b:NoSchedule,c --in-cluster --volume v", "host pod service", 2,
			study.Target{Kube: &study.Kube{Namespace: "n", Image: "i", PullSecret: "s", Tolerations: []string{"a=b:NoSchedule", "c"}, InCluster: true, Volume: "v"}}},
		{"cluster --kube --shell-image i", "host pod service", 2, study.Target{Kube: &study.Kube{Shell: "i"}}},
		{file, "host", 3, study.Target{Kube: &study.Kube{Namespace: "a", Nodes: study.Nodes{"n1", "n2", "n3"}}, Ports: "1-9"}},
		{file + " -N b --nodes n1,n2", "host", 2, study.Target{Kube: &study.Kube{Namespace: "b", Nodes: study.Nodes{"n1", "n2"}}, Ports: "1-9"}},
		{file + " --ssh a,b", "host", 2, study.Target{SSH: []string{"a", "b"}, Ports: "1-9"}},
		{"", "host bridge vxlan-overlay", 2, study.Target{}},
	} {
		s, err := asked(strings.Fields(c.args)...)
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
			continue
		}
		if got := strings.Join(study.Names(s.Networks), " "); got != c.networks || s.Topology.Hosts != c.hosts || !reflect.DeepEqual(s.Target, c.target) || s.Baseline != s.Networks[0].Name {
			t.Errorf("%s: %s on %d hosts of %v, baseline %s; want %s on %d of %v", c.args, got, s.Topology.Hosts, s.Target, s.Baseline, c.networks, c.hosts, c.target)
		}
	}
}

// Between machines that exist both directions are measured, unless the file or a flag says otherwise, and the study that
// the run stores says the same.
func TestDirectionsOfTargets(t *testing.T) {
	dir := t.TempDir()
	for name, src := range map[string]string{"plain": "target: {ssh: [a, b]}", "one": "target: {ssh: [a, b]}\nswap: false", "lab": "swap: false"} {
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte("networks: [host]\nprobes: [ping]\n"+src+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for args, want := range map[string]bool{"--ssh a,b": true, "--kube": true, "--ssh a,b --swap=false": false, "--ssh a,b --swap": true, "-n host": false, "-n host --swap": true,
		dir + "/plain.yaml": true, dir + "/one.yaml": false, dir + "/one.yaml --swap": true, dir + "/plain.yaml --swap=false": false, dir + "/lab.yaml --ssh a,b": false} {
		s, err := asked(strings.Fields(args)...)
		if err != nil {
			t.Fatal(err)
		}
		b, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again := filepath.Join(dir, "again.yaml")
		if err := os.WriteFile(again, b, 0o666); err != nil {
			t.Fatal(err)
		}
		stored, err := asked(again)
		if err != nil || s.Swap != want || stored.Swap != want {
			t.Errorf("%s: swap %v, stored %v, %v, want %v", args, s.Swap, stored.Swap, err, want)
		}
	}
}

// Without a study, a target is measured with the probes and blocks of the default study.
func TestDefaultsOfTargets(t *testing.T) {
	lab, err := claim.ShippedStudy(defaultStudy)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--ssh", "a,b"}, {"--kube"}} {
		s, err := asked(args...)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(study.Names(s.Probes), study.Names(lab.Probes)) || s.Blocks != lab.Blocks || s.Duration != lab.Duration || s.Warmup != lab.Warmup || s.Fast != lab.Fast || s.Question == lab.Question {
			t.Errorf("%v: %+v", args, s)
		}
	}
}

// Users name an architecture as Go does, in weir-linux-arm64, or as the kernel does.
func TestProgramsOfMachines(t *testing.T) {
	file := filepath.Join(t.TempDir(), "weir")
	if err := os.WriteFile(file, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	for given, want := range map[string]string{"arm64": "aarch64", "aarch64": "aarch64", "amd64": "x86_64", "riscv64": "riscv64"} {
		p, err := (&targetFlags{programs: []string{given + "=" + file}}).program()
		if err != nil || len(p.Files) != 1 || p.Files[want] != file {
			t.Errorf("%s: %v, %v; want the program of %s", given, p.Files, err, want)
		}
	}
	for _, wrong := range [][]string{{"arm64"}, {"=" + file}, {"arm64="}, {"arm64=" + file, "aarch64=" + file}} {
		if p, err := (&targetFlags{programs: wrong}).program(); err == nil {
			t.Errorf("%v: %v, want an error", wrong, p.Files)
		}
	}
}
