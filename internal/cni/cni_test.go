package cni

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fake makes a plugin of a shell script and a conflist that uses it, and returns the file of the
// conflist.
func fake(t *testing.T, script string) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("CNI_PATH", dir)
	t.Setenv("SAID", filepath.Join(dir, "said"))
	if err := os.WriteFile(filepath.Join(dir, "fake"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "n.conflist")
	if err := os.WriteFile(file, []byte(`{"cniVersion":"1.0.0","name":"n","plugins":[{"type":"fake"}]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// answer is a plugin that records how it was called and returns an address.
const answer = `
echo "$CNI_COMMAND $CNI_CONTAINERID $CNI_NETNS $CNI_IFNAME $CNI_ARGS" >> $SAID
case $CNI_COMMAND in
VERSION) echo '{"cniVersion":"1.0.0","supportedVersions":["1.0.0"]}';;
ADD) echo '{"cniVersion":"1.0.0","ips":[{"address":"10.64.1.7/24"}]}';;
esac
`

func TestAddAndDel(t *testing.T) {
	file := fake(t, answer)
	var out bytes.Buffer
	if err := Main(t.Context(), []string{"add", file, "h1p1", "10.64.1.7"}, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "10.64.1.7/24") {
		t.Errorf("printed %s", &out)
	}
	kept, err := filepath.Glob(filepath.Join(filepath.Dir(file), "cache", "*", "*"))
	if err != nil || len(kept) != 1 {
		t.Errorf("remembered beside the conflist: %v, %v", kept, err)
	}
	if err := Main(t.Context(), []string{"del", file, "h1p1", "10.64.1.7"}, &out); err != nil {
		t.Error(err)
	}
	if kept, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "cache", "*", "*")); len(kept) != 0 {
		t.Errorf("not forgotten: %v", kept)
	}
	said, err := os.ReadFile(os.Getenv("SAID"))
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"ADD", "DEL"} {
		if want := verb + " h1p1 /run/netns/h1p1 eth0 IgnoreUnknown=1;IP=10.64.1.7\n"; !strings.Contains(string(said), want) {
			t.Errorf("called by %q, want %q among it", said, want)
		}
	}
}

func TestFails(t *testing.T) {
	for _, c := range []struct {
		name, script string
		args         []string // FILE stands for the conflist
		want         string
	}{
		{"usage", "", nil, "usage: weir cni add|del CONFLIST POD ADDRESS"},
		{"verb", "", []string{"gc", "FILE", "p", "10.0.0.1"}, "usage: "},
		{"address", "", []string{"add", "FILE", "p", "10.0.0.1/24"}, "usage: "},
		{"no file", "", []string{"add", "/nonsense", "p", "10.0.0.1"}, "cni: error reading /nonsense"},
		{"another address", answer, []string{"add", "FILE", "p", "10.64.1.8"}, "p got [10.64.1.7/24], requested 10.64.1.8"},
		{"refused", `echo '{"code": 11, "msg": "no room"}'; exit 1`, []string{"add", "FILE", "p", "10.0.0.1"}, "cni: add p to n: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := fake(t, c.script)
			for i := range c.args {
				c.args[i] = strings.Replace(c.args[i], "FILE", file, 1)
			}
			var out bytes.Buffer
			err := Main(t.Context(), c.args, &out)
			if err == nil || !strings.Contains(err.Error(), c.want) || out.Len() > 0 {
				t.Errorf("error %v, want %q; printed %q", err, c.want, &out)
			}
			if isUsage := strings.HasPrefix(c.want, "usage"); errors.Is(err, ErrUsage) != isUsage {
				t.Errorf("%v is of usage: %v", err, !isUsage)
			}
		})
	}
}

// The error for a missing plugin, IPAM included, names its package.
func TestMissing(t *testing.T) {
	file := fake(t, answer)
	list := `{"cniVersion":"1.0.0","name":"n","plugins":[{"type":"fake","ipam":{"type":"one"}},{"type":"two"}]}`
	if err := os.WriteFile(file, []byte(list), 0o644); err != nil {
		t.Fatal(err)
	}
	err := Main(t.Context(), []string{"add", file, "p", "10.64.1.7"}, &bytes.Buffer{})
	for _, want := range []string{"cni: plugin one is not in " + os.Getenv("CNI_PATH"), "plugin two is", "install the package containernetworking-plugins"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
