package facts

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A ToolInfo says how to find a measuring tool and ask for its version.
type ToolInfo struct {
	Program     string
	Package     string         // of Debian and Ubuntu, the make target that builds it ("make flanneld"), or whose it is ("of …")
	VersionArgs []string       // nil when it does not report one
	version     *regexp.Regexp // its first group, in what VersionArgs prints
}

// Tools lists the programs that weir drives, by name.
func Tools() []ToolInfo {
	re := regexp.MustCompile
	const (
		netperf    = "netperf, of the section non-free (Debian) or multiverse (Ubuntu)"
		osu        = "of OSU's micro-benchmarks (no package has it: build them, mvapich.cse.ohio-state.edu/benchmarks)"
		calico     = "of Calico (no package has it: put the files of the images calico/node and calico/cni into /opt/calico)"
		sparkyfish = "of sparkyfish (no package has it: build it, github.com/chrissnell/sparkyfish)"
	)
	tools := []ToolInfo{
		{"/opt/calico/opt/cni/bin/calico", calico, []string{"-v"}, re(`v(\S+)`)},
		{"/opt/calico/usr/bin/bird", calico, []string{"--version"}, re(`BIRD version (\S+)`)},
		{"/opt/calico/usr/bin/calico-node", calico, []string{"-v"}, re(`Version: +v(\S+)`)},
		{"bird", "bird2", []string{"--version"}, re(`BIRD version (\S+)`)},
		{"curl", "curl", []string{"--version"}, re(`curl (\S+)`)},
		{"docker", "docker.io", []string{"--version"}, re(`Docker version ([^\s,]+)`)},
		{"dockerd", "docker.io", []string{"--version"}, re(`Docker version ([^\s,]+)`)},
		{"etcd", "etcd-server", []string{"--version"}, re(`etcd Version: (\S+)`)},
		{"etcdctl", "etcd-client", []string{"version"}, re(`etcdctl version: (\S+)`)},
		{"ethtool", "ethtool", []string{"--version"}, re(`ethtool version (\S+)`)},
		{"fping", "fping", []string{"-v"}, re(`Version (\S+)`)},
		{"flanneld", "make flanneld", []string{"-version"}, re(`v(\d\S*)`)},
		{"ip", "iproute2", []string{"-V"}, re(`iproute2-([^\s,]+)`)},
		{"host-local", "containernetworking-plugins", []string{}, re(`plugin (?:version )?v?(\S+)`)},
		{"iperf", "iperf", []string{"--version"}, re(`iperf version (\S+)`)},
		{"iperf3", "iperf3", []string{"--version"}, re(`iperf (\S+)`)},
		{"NPmpich2", "netpipe-mpich2", nil, nil},
		{"NPopenmpi", "netpipe-openmpi", nil, nil},
		{"NPtcp", "netpipe-tcp", nil, nil},
		{"ipset", "ipset", []string{"--version"}, re(`ipset v([^\s,]+)`)},
		{"iptables-legacy", "iptables", []string{"--version"}, re(`iptables v(\S+)`)},
		{"iptables-nft", "iptables", []string{"--version"}, re(`iptables v(\S+)`)},
		{"iptables", "iptables", []string{"--version"}, re(`iptables v(\S+)`)},
		{"mpiexec.hydra", "mpich", []string{"--version"}, re(`Version: +(\S+)`)},
		{"mpirun.openmpi", "openmpi-bin", []string{"--version"}, re(`(?m)^mpirun\S* \([^)]+\) (\S+)`)},
		{"netperf", netperf, []string{"-V"}, re(`version (\S+)`)},
		{"netserver", netperf, []string{"-V"}, re(`version (\S+)`)},
		{"nft", "nftables", []string{"--version"}, re(`nftables v(\S+)`)},
		{"nuttcp", "nuttcp", []string{"-V"}, re(`nuttcp-(\S+)`)},
		{"osu_bw", osu, nil, nil},
		{"osu_latency", osu, nil, nil},
		{"ovs-vsctl", "openvswitch-switch", []string{"--version"}, re(`\(Open vSwitch\) (\S+)`)},
		{"ovs-vswitchd", "openvswitch-switch", []string{"--version"}, re(`\(Open vSwitch\) (\S+)`)},
		{"ovsdb-server", "openvswitch-switch", []string{"--version"}, re(`\(Open vSwitch\) (\S+)`)},
		{"ovsdb-tool", "openvswitch-switch", []string{"--version"}, re(`\(Open vSwitch\) (\S+)`)},
		{"ping", "iputils-ping", []string{"-V"}, re(`iputils[ -]s?(\S+)`)},
		{"python3", "python3-mpi4py", []string{"-c", "import mpi4py; print('mpi4py', mpi4py.__version__)"}, re(`(mpi4py \S+)`)},
		{"qperf", "qperf", []string{"--version"}, re(`qperf (\S+)`)},
		{"sockperf", "sockperf", []string{"--version"}, re(`version (\S+)`)},
		{"sparkyfish", sparkyfish, []string{"--version"}, re(`sparkyfish (\S+)`)},
		{"sparkyfish-server", sparkyfish, []string{"--version"}, re(`sparkyfish-server (\S+)`)},
		{"stress-ng", "stress-ng", []string{"--version"}, re(`version (\S+)`)},
		{"tc", "iproute2", []string{"-V"}, re(`iproute2-([^\s,]+)`)},
		{"weaver", "of Weave Net (no package has it: take the program from the image weaveworks/weave:2.8.1)", []string{"--version"}, re(`weave (?:router )?(\S+)`)},
	}
	slices.SortFunc(tools, func(a, b ToolInfo) int { return cmp.Compare(a.Program, b.Program) })
	return tools
}

// versionTimeout bounds how long a tool can take to print its version.
const versionTimeout = 5 * time.Second

// Tool finds a program of Tools on this machine and asks for its version. The error
// about a missing one names the package to install and is exec.ErrNotFound. When only
// the version is unknown, path is still set. Of a program named by its full path only
// its presence is checked.
func Tool(ctx context.Context, name string) (path, version string, err error) {
	tools := Tools()
	i := slices.IndexFunc(tools, func(t ToolInfo) bool { return t.Program == name })
	t := ToolInfo{Program: name} // for a program that only the caller knows
	if i >= 0 {
		t = tools[i]
	} else if !filepath.IsAbs(name) {
		var known []string
		for _, t := range tools {
			known = append(known, t.Program)
		}
		return "", "", fmt.Errorf("%s: unknown tool; known are %s", name, strings.Join(known, ", "))
	}
	if path = Find(name); path == "" {
		return "", "", &missing{t}
	}
	if t.VersionArgs == nil {
		return path, "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, t.VersionArgs...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.WaitDelay = time.Second // for what a wrapper script leaves behind
	// The exit status does not matter: iperf 2 prints its version and fails.
	out, runErr := cmd.CombinedOutput()
	if m := t.version.FindSubmatch(out); m != nil {
		return path, string(m[1]), nil
	}
	if ctx.Err() != nil {
		runErr = context.Cause(ctx)
	}
	if runErr != nil {
		return path, "", fmt.Errorf("%s: version: %w", path, runErr)
	}
	return path, "", fmt.Errorf("%s: version: none found in %.60q", path, out)
}

// Find returns the path of a program, "" when there is none. It also looks in the
// administrators' directories, which other users do not have in PATH on Debian, where
// make puts programs that no package has, and where CNI plugins are.
func Find(name string) string {
	dirs := append([]string{"", "/usr/sbin", "/sbin"}, PluginDirs()...)
	if cache, err := os.UserCacheDir(); err == nil {
		dirs = append(dirs, filepath.Join(cache, "weir", "bin"))
	}
	for _, dir := range dirs {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path
		}
	}
	return ""
}

// PluginDirs returns the directories of CNI plugins: those of CNI_PATH, or else the
// usual one and Debian's.
func PluginDirs() []string {
	if dirs := filepath.SplitList(os.Getenv("CNI_PATH")); len(dirs) > 0 {
		return dirs
	}
	return []string{"/opt/cni/bin", "/usr/lib/cni"}
}

// missing reports that a tool is not installed.
type missing struct{ tool ToolInfo }

func (m *missing) Error() string {
	if strings.HasPrefix(m.tool.Package, "make ") {
		return fmt.Sprintf("%s: not found: build it in the source tree of weir: %s (needs Go and gcc)", m.tool.Program, m.tool.Package)
	}
	if m.tool.Package == "" {
		return m.tool.Program + ": not found: no such program"
	}
	if strings.HasPrefix(m.tool.Package, "of ") { // somebody whose programs are not packaged
		return fmt.Sprintf("%s: not found: it is %s", m.tool.Program, m.tool.Package)
	}
	in := " (Debian, Ubuntu)"
	if strings.Contains(m.tool.Package, "(") {
		in = "" // the package says it
	}
	return fmt.Sprintf("%s: not found: install the package %s%s", m.tool.Program, m.tool.Package, in)
}

func (m *missing) Unwrap() error { return exec.ErrNotFound }
