package cli

import (
	"runtime/debug"
	"testing"
)

func TestVersion(t *testing.T) {
	of := func(module string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: module}, Settings: settings}
	}
	for _, c := range []struct{ linked, module, want string }{
		{"v1.2.0", "v1.1.0", "v1.2.0"},
		{unversioned, "v1.1.0", "v1.1.0"},
		{unversioned, "(devel)", unversioned},
		{unversioned, "", unversioned},
	} {
		if got := releaseOf(c.linked, of(c.module)); got != c.want {
			t.Errorf("linked %s, module %q: %s, want %s", c.linked, c.module, got, c.want)
		}
	}
	b := buildOf("v1", of("", debug.BuildSetting{Key: "vcs.revision", Value: "abc"}, debug.BuildSetting{Key: "vcs.time", Value: "2026-01-02T03:04:05Z"},
		debug.BuildSetting{Key: "vcs.modified", Value: "true"}, debug.BuildSetting{Key: "-trimpath", Value: "true"}))
	if b.Version != "v1" || b.Commit != "abc" || b.Time != "2026-01-02T03:04:05Z" || !b.Modified || b.Go == "" || b.Platform == "" || b.EngineProtocol == 0 {
		t.Errorf("%+v", b)
	}
	if b := buildOf("v1", &debug.BuildInfo{}); b.Commit != "" || b.Modified {
		t.Errorf("without a repository: %+v", b)
	}
}
