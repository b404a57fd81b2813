package studies_test

import (
	"bytes"
	"io/fs"
	"slices"
	"testing"

	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/studies"
)

func TestShipped(t *testing.T) {
	files, err := fs.Glob(studies.FS, "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"cpu-stress.yaml", "direction-matrix.yaml", "fragmentation.yaml", "latency-under-load.yaml", "link-limited.yaml", "message-size.yaml", "mtu.yaml", "multihop-far.yaml", "multihop.yaml", "offload.yaml", "overlay-vs-ovs-one-host.yaml", "overlay-vs-ovs.yaml",
		"policy.yaml", "quick.yaml", "scaling.yaml", "tool-agreement.yaml", "udp-vs-tcp.yaml", "vxlan-and-kvm.yaml"} {
		if !slices.Contains(files, want) {
			t.Errorf("%s is not shipped", want)
		}
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			src, err := fs.ReadFile(studies.FS, file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.HasPrefix(src, []byte("# ")) {
				t.Error("the first line is no comment that says what the study is for")
			}
			if n := bytes.Count(src, []byte("\n")); n > 30 {
				t.Errorf("%d lines: a study is one idea in at most 30", n)
			}
			s, err := study.Load(src, file)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Validate(); err != nil {
				t.Error(err)
			}
			if s.Question == "" {
				t.Error("no question")
			}
			cells := s.Cells(nil)
			if len(cells) < 2 || len(study.Block(1, 1, cells)) != len(cells) {
				t.Errorf("%d cells: nothing to compare", len(cells))
			}
			if _, err := s.Encode(); err != nil {
				t.Error(err)
			}
		})
	}
}
