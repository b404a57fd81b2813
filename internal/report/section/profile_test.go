package section

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/profile"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/report/reporttest"
	"github.com/weir-bench/weir/record"
)

// profiledRun is the synthetic run with recorded profiles of udp-stream over host and vxlan-overlay.
func profiledRun(t *testing.T) *account.Account {
	t.Helper()
	r, dir := reporttest.Run(t), filepath.Join("..", "..", "profile", "testdata")
	f, err := os.Open(filepath.Join(dir, "profiles.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r.Profiles = map[string]*profile.Profile{}
	for one, err := range record.All(f, "profiles.jsonl") {
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(dir, one.Trial+".pb.gz"))
		if err != nil {
			t.Fatal(err)
		}
		if r.Profiles[one.Trial], err = profile.Parse(b); err != nil {
			t.Fatal(err)
		}
		r.Profiled = append(r.Profiled, *one)
	}
	for _, trial := range []string{"profile-b001-bridge-udp-stream", "profile-b002-bridge-udp-stream"} {
		r.Profiled = append(r.Profiled, record.Result{Trial: trial, Status: record.Skipped, Reason: "the device is missing",
			Config: map[string]string{"network": "bridge", "probe": "udp-stream"}})
	}
	return r
}

func TestProfile(t *testing.T) {
	r := profiledRun(t)
	r = reporttest.Again(r)
	sections := profileSection(newSource(r))
	if len(sections) != 1 || len(sections[0].Parts) != 1 {
		t.Fatalf("%d sections", len(sections))
	}
	d := &doc.Document{Sections: sections}
	d.Identify()
	var text bytes.Buffer
	if err := render.Text(&text, d, 100); err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "profile.txt", text.Bytes())
	reporttest.Chinese(t, d)
	if n := strings.Count(text.String(), "the device is missing"); n != 1 {
		t.Errorf("a reason of two trials is given %d times", n)
	}
	svg, err := d.Figures()[0].Chart.SVG()
	if err != nil {
		t.Fatal(err)
	}
	if len(svg) > 60_000 {
		t.Errorf("the flame graph has %d bytes, want at most 60 kB", len(svg))
	}
	for _, want := range []string{"<title>vxlan and tunnels: ", "br_netfilter", "client"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the flame graph has no %q", want)
		}
	}
}

// A run without profiles has no section.
func TestWithoutProfile(t *testing.T) {
	r := reporttest.Run(t)
	r = reporttest.Again(r)
	if s := profileSection(newSource(r)); s != nil {
		t.Errorf("section %+v", s)
	}
}
