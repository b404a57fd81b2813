package cli

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/engine/wire"
)

// unversioned is the version of a program for which the linker set none: it is not a release.
const unversioned = "devel"

// A build is what weir version prints.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Time     string `json:"time,omitempty"`     // of the commit
	Modified bool   `json:"modified,omitempty"` // the source differed from the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
	// EngineProtocol is the protocol version of weir engine: both ends need the same one.
	EngineProtocol int `json:"engineProtocol"`
}

// releaseOf returns the version that the linker set or, for a program of `go install`, the version of its module.
func releaseOf(version string, info *debug.BuildInfo) string {
	if m := info.Main.Version; version == unversioned && m != "" && m != "(devel)" {
		return m
	}
	return version
}

func buildOf(version string, info *debug.BuildInfo) build {
	b := build{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, EngineProtocol: wire.Version}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// buildInfo returns what the compiler recorded in this program; empty if it recorded nothing.
func buildInfo() *debug.BuildInfo {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info
	}
	return &debug.BuildInfo{}
}

func versionCommand(version string) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version of weir, its commit, and the version of its protocol",
		Args:  args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			b := buildOf(version, buildInfo())
			if asJSON {
				return printJSON(os.Stdout, b)
			}
			commit := ""
			if b.Commit != "" {
				commit = fmt.Sprintf("commit: %s of %s", b.Commit, b.Time)
				if b.Modified {
					commit += ", with changes"
				}
				commit += "\n"
			}
			_, err := fmt.Printf("weir %s\n%sbuilt by: %s for %s\nengine: protocol %d\n", b.Version, commit, b.Go, b.Platform, b.EngineProtocol)
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print machine-readable output")
	return c
}
