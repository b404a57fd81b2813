package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target/remote"
)

// plugin is this program's name as a plugin: kubectl runs it for `kubectl weir`.
const plugin = "kubectl-weir"

// asPlugin reports whether kubectl started this process, so that --kube goes without saying.
func asPlugin() bool { return filepath.Base(os.Args[0]) == plugin }

// targetFlags name machines whose networks exist.
type targetFlags struct {
	ssh, nodes, ports string
	attach            string // Job of a coordinator; only of `weir run`
	tolerations       string
	inKube            bool
	kube              study.Kube
	programs          []string // ARCH=FILE
	names             []string
}

// ofKube lists the flags that need a cluster.
var ofKube = []string{"context", "namespace", "nodes", "image", "shell-image", "keep", "pull-secret", "tolerations", "in-cluster", "volume"}

// register registers the flags of a target.
func (f *targetFlags) register(c *cobra.Command) {
	fl := pflag.NewFlagSet("target", pflag.ContinueOnError)
	fl.StringVar(&f.ssh, "ssh", "", "measure between these machines, as ssh names them: a,b or a,b=ADDRESS (docs/ssh.md)")
	fl.BoolVar(&f.inKube, "kube", false, "measure a Kubernetes cluster, through kubectl (docs/kubernetes.md)")
	fl.StringVar(&f.kube.Context, "context", "", "with --kube: context of the kubeconfig (default: the current one)")
	fl.StringVarP(&f.kube.Namespace, "namespace", "N", "", "with --kube: namespace for the pods (default: one made for the run)")
	fl.StringVar(&f.nodes, "nodes", "", "with --kube: nodes to measure, n1,n2 or all (default: two, in different zones if possible)")
	fl.StringVar(&f.kube.Image, "image", "", "with --kube: image that holds weir, from weir image (default: weir is sent into the shell image)")
	fl.StringVar(&f.kube.Shell, "shell-image", "", "with --kube: image with a POSIX shell, which weir is sent into")
	fl.BoolVar(&f.kube.Keep, "keep", false, "with --kube: leave the objects in the cluster")
	fl.StringVar(&f.kube.PullSecret, "pull-secret", "", "with --kube: Secret of the namespace, to pull the image with")
	fl.StringVar(&f.tolerations, "tolerations", "", "with --kube: taints that weir's pods tolerate, KEY=VALUE:EFFECT,… (those of named nodes always)")
	fl.BoolVar(&f.kube.InCluster, "in-cluster", false, "with --kube: a coordinator in the cluster carries out the run, also without this command; for hundreds of nodes")
	fl.StringVar(&f.kube.Volume, "volume", "", "with --in-cluster: claim (PersistentVolumeClaim) for the results; - is the disk of the coordinator's node (default: a claim of the default StorageClass, if the cluster has one)")
	fl.StringVar(&f.ports, "port", "", "ports that servers on machines listen on, FIRST-LAST (default 5201-5299)")
	fl.VisitAll(func(g *pflag.Flag) { f.names = append(f.names, g.Name) })
	c.Flags().AddFlagSet(fl)
	c.Flags().StringArrayVar(&f.programs, "program", nil, "weir for machines of another architecture: ARCH=FILE, such as arm64=weir-linux-arm64 (default: weir-linux-ARCH next to this program)")
}

// change makes s a study of the target that the flags name, if they name one. A flag replaces the
// study's own target.
func (f *targetFlags) change(c *cobra.Command, s *study.Study) error {
	changed := func(name string) bool { return c.Flags().Changed(name) }
	switch {
	case changed("ssh") && f.wantsKube():
		return usage("--ssh and --kube cannot be combined: a run measures one target; make two runs, and compare them with weir compare")
	case changed("ssh") && !strings.Contains(f.ssh, ","):
		return usage("--ssh %s: one machine, but a network has two ends; name two or more, such as --ssh %s,b", f.ssh, f.ssh)
	case changed("ssh"):
		s.Target = study.Target{SSH: strings.Split(f.ssh, ","), Ports: s.Target.Ports}
	case f.wantsKube() && s.Target.Kube == nil:
		s.Target = study.Target{Kube: &study.Kube{}, Ports: s.Target.Ports}
	}
	if i := slices.IndexFunc(ofKube, changed); i >= 0 && s.Target.Kube == nil {
		return usage("--%s is for a cluster; add --kube", ofKube[i])
	}
	if k := s.Target.Kube; k != nil {
		one := *k // a study's target is not shared
		s.Target.Kube = &one
		for name, set := range map[string]func(){
			"context":     func() { one.Context = f.kube.Context },
			"namespace":   func() { one.Namespace = f.kube.Namespace },
			"nodes":       func() { one.Nodes = strings.Split(f.nodes, ",") },
			"image":       func() { one.Image = f.kube.Image },
			"shell-image": func() { one.Shell = f.kube.Shell },
			"keep":        func() { one.Keep = f.kube.Keep },
			"pull-secret": func() { one.PullSecret = f.kube.PullSecret },
			"tolerations": func() { one.Tolerations = strings.Split(f.tolerations, ",") },
			"in-cluster":  func() { one.InCluster = f.kube.InCluster },
			"volume":      func() { one.Volume = f.kube.Volume },
		} {
			if changed(name) {
				set()
			}
		}
	}
	if k := s.Target.Kube; k != nil && k.InCluster && k.Image == "" {
		return usage("--in-cluster needs an image that holds weir, because agents start without this command: weir image FILE writes one; name it with --image")
	}
	if k := s.Target.Kube; k != nil && k.Volume != "" && !k.InCluster {
		return usage("--volume is for the results of a run in the cluster; add --in-cluster, or leave it out")
	}
	if changed("port") {
		s.Target.Ports = f.ports
	}
	if !s.Target.Exists() {
		if changed("port") {
			return usage("--port is for machines that exist; add --ssh or --kube")
		}
		return nil
	}
	if changed("swap") {
		s.OneWay = !s.Swap
	}
	s.Swap = !s.OneWay // what limits one direction between machines that exist shows in no other way
	n := s.Target.Hosts()
	if n > 0 && !changed("hosts") {
		s.Topology.Hosts = n
	}
	if n == 0 && changed("hosts") && len(s.Target.Kube.Nodes) > 0 {
		return usage("--hosts contradicts --nodes all: the cluster has as many hosts as nodes; leave out one of the two")
	}
	return refuseBuilding(c)
}

func (f *targetFlags) wantsKube() bool { return f.inKube || asPlugin() }

// building lists the flags that describe what weir builds.
var building = []string{"mtu", "link", "nic", "delay", "jitter", "loss"}

// refuseBuilding returns an error for flags that would change other people's machines.
func refuseBuilding(c *cobra.Command) error {
	for _, name := range building {
		if c.Flags().Changed(name) {
			return usage("--%s would change machines that are not weir's; leave it out, or use it in the lab (without --ssh and --kube)", name)
		}
	}
	return nil
}

// defaults returns the study of a run without a study and without -n on a target.
func (f *targetFlags) defaults() (study.Study, error) {
	if f.wantsKube() {
		s, err := claim.ShippedStudy("cluster")
		if f.nodes != "" && f.nodes != study.AllNodes && !strings.Contains(f.nodes, ",") {
			s = place.WithoutHost(s)
		}
		return s, err
	}
	s, err := claim.ShippedStudy(defaultStudy)
	s.Name, s.Question = "machines", "What does the network between these machines carry?"
	s.Networks, s.Baseline = []study.Use{{Kind: "host"}}, ""
	return s.Resolve(), err
}

// only returns the default study of the target that the flags name; with -n, of these networks. Its
// target is zero without such flags.
func (f *targetFlags) only(c *cobra.Command, networks ...string) (s study.Study, err error) {
	if s, err = f.defaults(); err == nil && len(networks) > 0 {
		s.Networks, err = uses(networks)
		s.Baseline = ""
		s = s.Resolve()
	}
	given(c, &s)
	if err == nil {
		err = f.change(c, &s)
	}
	if err == nil && s.Target.Exists() {
		err = s.Validate()
	}
	if err == nil && s.Target.Exists() {
		err = place.Check(s)
	}
	return s, failure.Usage.Of(err)
}

// program returns the programs for machines. Users name architectures as Go or as the kernel does.
func (f *targetFlags) program() (remote.Programs, error) {
	p := remote.Programs{Files: map[string]string{}}
	files, err := parsePrograms(f.programs)
	for arch, file := range files {
		for kernel, name := range kernelArch {
			if arch == name {
				arch = kernel
			}
		}
		if _, err := os.Stat(file); err != nil {
			return p, usage("--program %s=%s: %w", arch, file, err)
		}
		p.Files[arch] = file
	}
	return p, err
}
