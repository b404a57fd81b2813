package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/record"
)

// Every kind of step that only events have and that any machine can do, on a network that goes on over its second link.
const eventStudy = `networks: [two-paths]
probes: [udp-outage]
events:
- name: all
  at: 50ms
  traffic: moves
  do:
  - {in: h1, exec: {argv: [nft, add table ip t]}}
  - {in: h1, reload: {rules: nft}}
  - {in: h1, flush: {table: conntrack}}
  - {in: h1, announce: {dev: eth1, addr: 192.0.2.1}}
  - {in: h2, set: {dev: eth0, down: true}}
  - {in: h1, drop: {dev: eth0, with: 203.0.113.0/24}}
  - {in: h1, rate: {dev: eth1, rate: 1e9}}
  - {in: h1, rule: {from: 203.0.113.0/24, table: 254, priority: 100}}
  - {in: h1, command: {argv: [echo, begun]}}
  undo:
  - {in: h1, exec: {argv: [nft, delete table ip t]}}
  - {in: h2, set: {dev: eth0, up: true}}
  - {in: h1, drop: {dev: eth0, with: 203.0.113.0/24, gone: true}}
  - {in: h1, rate: {dev: eth1}}
  - {in: h1, rule: {from: 203.0.113.0/24, table: 254, priority: 100, gone: true}}
  - {in: h1, command: {argv: [echo, undone]}}
blocks: 1
duration: LENGTH
`

// An event happens and is undone in its trial, and when the run is interrupted in it. Of one that is killed nothing is left.
func TestEventEnds(t *testing.T) {
	needLab(t)
	for _, name := range []string{"nft", "ip"} {
		if _, _, err := facts.Tool(t.Context(), name); err != nil {
			t.Skip(err)
		}
	}
	for name, tc := range map[string]struct {
		length string
		signal syscall.Signal
		want   int
	}{"by itself": {"1s", 0, 0}, "interrupted": {"50s", syscall.SIGINT, 4}, "killed": {"50s", syscall.SIGKILL, 128 + 9}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tmp := t.TempDir()
			dir, file := filepath.Join(tmp, "out"), filepath.Join(tmp, "study.yaml")
			if err := os.WriteFile(file, []byte(strings.Replace(eventStudy, "LENGTH", tc.length, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			p := start(t, nil, "run", file, "-f", "event=all", "--allow-commands", "--keep-disturbed", "-o", dir)
			said := func() string {
				b, _ := os.ReadFile(filepath.Join(dir, "logs", "two-paths", "h1-command.log"))
				return string(b)
			}
			if tc.signal != 0 {
				eventually(t, "the event begins: "+p.stderr.String(), func() bool { return strings.Contains(said(), "\nbegun") })
				if err := p.Process.Signal(tc.signal); err != nil {
					t.Fatal(err)
				}
			}
			if got := p.status(t); got != tc.want { // waits until all processes are gone
				t.Fatalf("status %d, want %d\n%s", got, tc.want, &p.stderr)
			}
			if undone := strings.Contains(said(), "\nundone"); undone != (tc.signal != syscall.SIGKILL) {
				t.Errorf("undone %v: %s", undone, said())
			}
			if tc.signal != 0 {
				return
			}
			for _, r := range results(t, dir) {
				if lasted, ok := r.Get(record.EventLasted); r.Status != record.OK || !ok || lasted.Value < 0.5 {
					t.Errorf("%s: %s %s: the event lasted %v", r.Trial, r.Status, r.Reason, lasted)
				}
			}
		})
	}
}

// A trial fails if its event leads traffic over other devices and does not say so, or over others than it says: its numbers would be of
// another path. Other events leave traffic on the devices of its network.
func TestEventStrays(t *testing.T) {
	needLab(t)
	file := filepath.Join(t.TempDir(), "study.yaml")
	const twoPaths = "{use: two-paths, also: [{in: h1, sysctl: {key: net.ipv4.conf.eth0.ignore_routes_with_linkdown, value: 1}}]}"
	for name, tc := range map[string]struct{ network, traffic, reason string }{
		"strays":           {twoPaths, "", "the traffic took another path; if the event link-down is meant to lead it there, say so in the study (traffic: moves)"},
		"says so":          {twoPaths, "traffic: moves, ", ""},
		"says which":       {twoPaths, "traffic: moves, over: [{in: h1, dev: eth1}, {in: h2, dev: eth1}], ", ""},
		"says another":     {twoPaths, "traffic: moves, over: [{in: h1, dev: lo}], ", "the event link-down names the devices that it may take (over)"},
		"has only one way": {"routed", "", ""},
	} {
		study := "networks: [" + tc.network + "]\nprobes: [udp-outage]\nblocks: 1\nduration: 1s\n" +
			"events: [{name: link-down, at: 50ms, " + tc.traffic + "do: [{in: h2, set: {dev: eth0, down: true}}]}]\n"
		if err := os.WriteFile(file, []byte(study), 0o600); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "out")
		p := start(t, nil, "run", file, "--keep-disturbed", "-o", dir)
		p.status(t)
		all := results(t, dir)
		if len(all) != 2 {
			t.Fatalf("%s: %d trials, want 2\n%s", name, len(all), &p.stderr)
		}
		for _, r := range all {
			strays := tc.reason != "" && r.Config["event"] != "none"
			if want := map[bool]record.Status{true: record.Invalid, false: record.OK}[strays]; r.Status != want || strays && !strings.Contains(r.Reason, tc.reason) {
				t.Errorf("%s: %s: %s: %s, want %s with %q", name, r.Trial, r.Status, r.Reason, want, tc.reason)
			}
		}
	}
}
