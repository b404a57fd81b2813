package local

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"sync"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/target"
)

// sysctlsEnv passes on what KeepSysctls read.
const sysctlsEnv = "WEIR_SYSCTLS"

// KeepSysctls reads the network's settings for the processes that this one starts in other network
// namespaces, where many are hidden or have other values (net/core/sysctl_net_core.c,
// netns_core_table). The Host of those processes then shows what this namespace has.
func KeepSysctls() error {
	b, err := json.Marshal(facts.NetSysctls(os.DirFS("/")))
	if err != nil {
		return err
	}
	return os.Setenv(sysctlsEnv, string(b))
}

// kept returns the files that KeepSysctls read in a parent process, if any.
var kept = sync.OnceValue(func() map[string]string {
	var m map[string]string
	_ = json.Unmarshal([]byte(os.Getenv(sysctlsEnv)), &m) // "" in the first process
	_ = os.Unsetenv(sysctlsEnv)                           // programs of a trial do not need it
	return m
})

// first is a file tree with the kept files in place of this namespace's.
type first struct{ fs.FS }

func (f first) Open(name string) (fs.File, error) {
	if v, ok := kept()[name]; ok {
		return target.File(path.Base(name), []byte(v+"\n")), nil
	}
	return f.FS.Open(name)
}

// ReadFile reads in one call: some files of /proc/sys end after the first, however short
// (kernel/sysctl.c, do_proc_dointvec), and fs.ReadFile would begin with one byte.
func (f first) ReadFile(name string) ([]byte, error) {
	if v, ok := kept()[name]; ok {
		return []byte(v + "\n"), nil
	}
	return fs.ReadFile(f.FS, name)
}
