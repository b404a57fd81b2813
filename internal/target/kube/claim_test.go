package kube

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/target/kube/fakekube"
	"github.com/weir-bench/weir/internal/topo"
)

// Results are on a claim of the cluster's default StorageClass, which goes with the coordinator's Job, unless there is none, the
// cluster refuses it, or the user says otherwise.
func TestDefaultClaim(t *testing.T) {
	for name, c := range map[string]struct {
		class, volume, denied string
		claims, kept          bool
		warns                 string
	}{
		"default":   {class: "fast", claims: true, kept: true},
		"none":      {},
		"refused":   {class: "fast", denied: "create PersistentVolumeClaim", warns: "no claim of the StorageClass fast for the results, which stay on the disk of the coordinator's node: "},
		"own":       {class: "fast", volume: "mine", kept: true},
		"node disk": {class: "fast", volume: NodeDisk},
	} {
		t.Run(name, func(t *testing.T) {
			k, f := cluster(t)
			said := hears(k)
			k.Volume = c.volume
			f.Set(t, func(s *fakekube.State) { s.Class, s.Denied = c.class, []string{c.denied} })
			job, err := launch(t, k, topo.PodNet)
			if err != nil {
				t.Fatal(err)
			}
			claim, made := f.State(t).Objects["PersistentVolumeClaim/"+job]
			if made != c.claims || k.Kept() != c.kept {
				t.Errorf("claim %v, kept %t", claim, k.Kept())
			}
			if made && !strings.Contains(fmt.Sprint(claim), "uid-of-"+job) {
				t.Errorf("the claim stays when its Job goes: %v", claim)
			}
			if got := strings.Join(*said, "\n"); !strings.HasPrefix(got, c.warns) || c.warns == "" && got != "" {
				t.Errorf("warnings %q", got)
			}
		})
	}
}

// A coordinator that is lost has a successor. What only its node's disk had is lost with its pod, and not with its process.
func TestReplaced(t *testing.T) {
	restarted := fakekube.Object{"phase": "Running", "podIP": "127.0.0.1", "containerStatuses": []fakekube.Object{{"state": fakekube.Object{"running": fakekube.Object{}},
		"lastState": fakekube.Object{"terminated": fakekube.Object{"reason": "OOMKilled", "exitCode": 137}}}}}
	for name, c := range map[string]struct {
		class  string
		change func(s *fakekube.State, job string)
		warns  string
		ended  string
	}{
		"restarted": {change: func(s *fakekube.State, job string) { s.Objects["Pod/"+job+"-x"]["status"] = restarted }, warns: "OOMKilled, exit status 137"},
		"replaced":  {class: "fast", change: func(s *fakekube.State, job string) { s.Objects["Job/"+job]["status"] = fakekube.Object{"failed": 1} }, warns: "lost"},
		"lost":      {change: func(s *fakekube.State, job string) { s.Objects["Job/"+job]["status"] = fakekube.Object{"failed": 1} }, ended: "no pod of it"},
		"evicted": {change: func(s *fakekube.State, job string) {
			s.Objects["Pod/"+job+"-x"]["status"] = fakekube.Object{"phase": "Failed", "reason": "Evicted", "message": "no memory"}
		}, ended: "Evicted: no memory"},
		"late": {class: "fast", change: func(s *fakekube.State, job string) {
			s.Objects["Job/"+job]["status"] = fakekube.Object{"conditions": []fakekube.Object{{"type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": "too long"}}}
		}, ended: "DeadlineExceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			k, f := cluster(t)
			said := hears(k)
			f.Set(t, func(s *fakekube.State) { s.Class = c.class })
			job, err := launch(t, k, topo.PodNet)
			if err != nil {
				t.Fatal(err)
			}
			f.Set(t, func(s *fakekube.State) { c.change(s, job) })
			for range 2 { // it says it once
				n, pod, err := k.View(t.Context())
				if c.ended != "" {
					if !errors.Is(err, ErrEnded) || !strings.Contains(err.Error(), c.ended) {
						t.Errorf("error %v, want the end and %q", err, c.ended)
					}
					continue
				}
				if err != nil || pod != job+"-x" {
					t.Fatalf("pod %s: %v", pod, err)
				}
				if err := n.Close(); err != nil {
					t.Error(err)
				}
			}
			if got := strings.Join(*said, "\n"); strings.Count(got, "the coordinator was lost (") != min(len(c.warns), 1) || !strings.Contains(got, c.warns) {
				t.Errorf("warnings %q", got)
			}
		})
	}
}
