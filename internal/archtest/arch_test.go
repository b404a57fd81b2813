// Package archtest tests the import rules and conventions of the tree.
package archtest

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/weir-bench/weir/"

// layers lists every package once, lowest first. A package can import only packages of lower
// layers, so two packages of one layer never see each other: network never sees probe, probe never
// sees target, report never sees lab.
var layers = [][]string{
	// The format of results, and their vocabulary.
	{"internal/bounds"},
	{"record"},
	// What prints and reads text.
	{"internal/strictyaml"},
	{"internal/lang", "internal/lang/langtest"},
	// Data and packages that stand alone.
	{"github.com/weir-bench/weir", "claims", "figures", "schema", "internal/failure", "internal/topo", "internal/plan", "internal/unit", "internal/stat", "internal/netns", "internal/rootless", "internal/confine", "internal/caught", "internal/cgroup", "internal/sample", "internal/terminal", "internal/engine/event", "internal/foreign", "internal/xsk", "studies"},
	{"internal/analysis/standing", "internal/facts", "internal/evidence", "internal/prose", "internal/artifact", "internal/image"},
	// Decisions: no I/O, no clock, no goroutine.
	{"internal/bisect", "internal/bisect/group", "internal/network", "internal/probe", "internal/analysis", "internal/study", "internal/engine/wire", "internal/relay", "internal/kubeapi", "internal/distance", "internal/redirect", "internal/hostns"},
	{"internal/analysis/timeline", "internal/condition", "internal/header", "internal/chart", "internal/claim", "internal/cni", "internal/imported", "internal/engine/sock", "internal/engine/tally", "internal/engine/web"},
	// The seam that all targets share.
	{"internal/target"},
	{"internal/target/local", "internal/target/targettest"},
	{"internal/target/agent"},
	{"internal/target/remote"},
	// Effects and their orchestration.
	{"internal/target/vm", "internal/engine", "internal/finding", "internal/costmodel", "internal/figure", "internal/profile", "internal/packettrace"},
	{"internal/explain", "internal/bisect/settings"},
	{"internal/target/lab", "internal/target/ssh", "internal/target/kube", "internal/target/kube/fakekube", "internal/session", "internal/nstest", "internal/trial", "internal/store", "internal/history"},
	{"internal/experiment", "internal/labtest"},
	{"internal/catalog"},
	// Everything that a run says, and what shows it.
	{"internal/account"},
	{"internal/report/doc", "internal/export"},
	{"internal/report/render"},
	{"internal/report/published"},
	{"internal/report/section", "internal/report/reporttest"},
	{"internal/report/several"},
	{"internal/place"},
	// What commands do, and the command line.
	{"internal/job"},
	{"internal/job/bisection", "internal/cli/progress"},
	{"internal/cli"},
	{"cmd/weir", "bench", "packaging"},
}

var only = map[string][]string{
	"github.com/vishvananda/netlink":            {"internal/engine/sock", "internal/distance"},
	"github.com/vishvananda/netlink/nl":         {"internal/distance"},
	"github.com/google/nftables":                {"internal/distance"},
	"github.com/vishvananda/netns":              nil,
	"golang.zx2c4.com/wireguard/wgctrl":         {"internal/target/lab"},
	"golang.org/x/sys/unix":                     {"internal/target/lab", "internal/netns", "internal/rootless", "internal/confine", "internal/hostns", "internal/engine", "internal/engine/sock", "internal/relay", "internal/distance", "internal/store", "internal/target/vm", "internal/target/agent", "internal/target/local", "internal/profile", "internal/packettrace", "internal/redirect", "internal/xsk", "internal/foreign"},
	"github.com/google/pprof/profile":           {"internal/profile"},
	"github.com/cilium/ebpf":                    {"internal/packettrace", "internal/redirect"},
	"github.com/cilium/ebpf/asm":                {"internal/packettrace", "internal/redirect"},
	"os/exec":                                   {"internal/target/lab", "internal/rootless", "internal/hostns", "internal/facts", "internal/session", "internal/cgroup", "internal/target/vm", "internal/target/local", "internal/target/remote", "internal/target/ssh", "internal/target/kube", "internal/target/kube/fakekube", "internal/nstest", "internal/terminal"},
	"golang.org/x/net/dns/dnsmessage":           {"internal/engine/web"},
	"github.com/quic-go/quic-go":                {"internal/engine/web"},
	"golang.org/x/crypto/nacl/box":              {"internal/relay"},
	"github.com/goccy/go-yaml/lexer":            {"internal/strictyaml"},
	"github.com/goccy/go-yaml/parser":           {"internal/strictyaml"},
	"github.com/goccy/go-yaml/token":            {"internal/strictyaml"},
	"golang.org/x/text/language":                {"internal/lang"},
	"github.com/spf13/cobra":                    {"internal/cli"},
	"github.com/spf13/pflag":                    {"internal/cli"},
	"github.com/containernetworking/cni/libcni": {"internal/cni"},
	// Experiments and trials know a target only by the seam.
	module + "internal/target/lab":    {"internal/place", "internal/job", "internal/cli", "internal/labtest", "bench"},
	module + "internal/target/vm":     {"internal/target/lab", "internal/job", "internal/job/bisection", "internal/cli"},
	module + "internal/target/agent":  {"internal/target/lab", "internal/target/vm", "internal/target/remote", "internal/target/ssh", "internal/target/kube"},
	module + "internal/target/remote": {"internal/target/ssh", "internal/target/kube", "internal/place", "internal/job", "internal/cli"},
	module + "internal/target/local":  {"internal/target/lab", "internal/target/agent", "internal/place", "internal/job", "internal/job/bisection"},
	"github.com/creack/pty":           {"internal/terminal"},
}

type pkg struct {
	ImportPath string
	Imports    []string
	GoFiles    []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,GoFiles", module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var ps []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return ps
		} else if err != nil {
			t.Fatal(err)
		}
		if len(p.GoFiles) > 0 { // a package with only tests has no layer
			ps = append(ps, p)
		}
	}
}

func TestImports(t *testing.T) {
	layer := map[string]int{}
	for i, l := range layers {
		for _, p := range l {
			layer[p] = i
		}
	}
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		mine, ok := layer[name]
		if !ok {
			t.Errorf("%s is not in layers: add it", name)
			continue
		}
		for _, imp := range p.Imports {
			if dep, ok := strings.CutPrefix(imp, module); ok && layer[dep] >= mine {
				t.Errorf("%s (layer %d) imports %s (layer %d)", name, mine, dep, layer[dep])
			}
			if allowed, ok := only[imp]; ok && !slices.Contains(allowed, name) {
				t.Errorf("%s imports %s, which only %v can import", name, imp, allowed)
			}
		}
	}
}
