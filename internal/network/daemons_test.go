package network_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/plan"
)

// programs extends PATH to the programs of plans that are not in it: CNI plugins, what `make tools`
// built, and weir, which is this test binary.
func programs(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dirs := append([]string{os.Getenv("PATH"), t.TempDir()}, facts.PluginDirs()...)
	if err := os.Symlink(self, filepath.Join(dirs[1], "weir")); err != nil {
		t.Fatal(err)
	}
	if flanneld := facts.Find("flanneld"); flanneld != "" {
		dirs = append(dirs, filepath.Dir(flanneld))
	}
	t.Setenv("PATH", strings.Join(dirs, string(os.PathListSeparator)))
}

// daemons reports whether the network called d has daemons, which start slowly.
func daemons(d string) bool {
	return strings.HasPrefix(d, "ovs") || strings.HasPrefix(d, "flannel") || d == "canal"
}

// rebuilt reports whether network d must be rebuilt to change its MTU.
func rebuilt(d string) bool {
	return strings.HasSuffix(d, "-internal") || strings.HasPrefix(d, "cni") || strings.HasPrefix(d, "flannel") || d == "canal"
}

// needDaemons skips a test if its daemons cannot start here.
func needDaemons(t *testing.T, p plan.Plan) {
	t.Helper()
	for _, tool := range p.Programs() {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	for _, s := range p.Steps {
		if s.Service == nil {
			continue
		}
		for _, dev := range s.Service.Opens {
			f, err := os.OpenFile(dev, os.O_RDWR, 0)
			if err != nil {
				t.Skip(err)
			}
			f.Close()
		}
	}
}
