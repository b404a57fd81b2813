package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A heading of a command's help, and the flags below it.
type heading struct {
	title string
	flags []string // the command lacks some of them: run and plan share their headings
}

var studyHeadings = []heading{
	{"Networks and probes", []string{"networks", "probes", "factor", "baseline", "compare", "fast"}},
	{"Repetition", []string{"blocks", "duration", "warmup", "precision", "max-time", "runs", "every", "episodes", "seed", "swap", "keep-disturbed"}},
	{"Networks that weir builds", []string{"hosts", "pods", "pairs", "rounds", "one-at-a-time", "ipv6", "pods-ipv6", "mtu", "link", "delay", "jitter", "loss", "nic"}},
	{"In a virtual machine", []string{"in-vm", "kernel", "vm-cpus", "vm-memory"}},
	{"Explanations", []string{"profile", "trace"}},
	{"Machines over SSH", []string{"ssh", "port", "program"}},
	{"Kubernetes", []string{"kube", "context", "namespace", "nodes", "image", "shell-image", "pull-secret", "tolerations", "keep", "in-cluster", "volume", "attach"}},
}

// headings sorts the flags in a command's help. Those below no heading come first.
func headings(c *cobra.Command, all []heading) *cobra.Command {
	c.InitDefaultHelpFlag()
	text := ""
	section := func(title string, in func(name string) bool) {
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if in(f.Name) {
				set.AddFlag(f)
			}
		})
		if set.HasAvailableFlags() {
			text += "\n\n" + title + ":\n" + strings.TrimRight(set.FlagUsages(), "\n")
		}
	}
	section("Flags", func(name string) bool {
		return !slices.ContainsFunc(all, func(h heading) bool { return slices.Contains(h.flags, name) })
	})
	for _, h := range all {
		section(h.title, func(name string) bool { return slices.Contains(h.flags, name) })
	}
	c.SetUsageTemplate("Usage:\n  {{.UseLine}}{{if .HasExample}}\n\nExamples:\n{{.Example}}{{end}}" + text + "\n")
	return c
}

// commandHeadings sort the commands in weir's help.
var commandHeadings = []struct {
	title    string
	commands []string
}{
	{"Measure", []string{"run", "reproduce", "figure", "import", "engine"}},
	{"Read results", []string{"report", "explain", "compare", "pool", "index", "watch"}},
	{"Look into a network", []string{"plan", "lab", "trace"}},
	{"Prepare", []string{"doctor", "list", "schema", "image"}},
}

// groupCommands sorts the commands of root, those of no heading last.
func groupCommands(root *cobra.Command) {
	for _, h := range commandHeadings {
		root.AddGroup(&cobra.Group{ID: h.title, Title: h.title + ":"})
	}
	for _, c := range root.Commands() {
		for _, h := range commandHeadings {
			if slices.Contains(h.commands, c.Name()) {
				c.GroupID = h.title
			}
		}
	}
}
