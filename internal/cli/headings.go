package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A heading of flags: a topic of weir help.
type heading struct {
	topic, title string
	about        string   // what its topic says first
	flags        []string // in the order of the flags' names
}

// firstFlags are the flags of run that people use first. The help of run shows them, and names the topics of all others.
var firstFlags = []string{"networks", "probes", "factor", "fast", "blocks", "duration", "precision", "hosts", "output", "resume"}

const (
	aboutMachines = `With --ssh or --kube, weir builds nothing and measures networks that exist: between
machines, or between the nodes and pods of a cluster. It uses your own ssh or
kubectl with their configuration, and changes nothing there.`
	aboutKube = `kubectl weir run, the plugin, implies --kube. -n names networks, as always; the
namespace is -N. With --in-cluster, a coordinator in the cluster carries out the run,
for hundreds of nodes, and --attach brings the results home later.`
	aboutSeries = `The interval of one run covers only that run. --runs 5 --every 10m runs the study
five times, ten minutes from start to start, and pools the runs: the pooled
intervals also cover differences between runs. Each run is an ordinary results
directory below -o: 001, 002 and so on.`
)

// studyHeadings are the topics of the flags of run.
var studyHeadings = []heading{
	{"networks", "Networks and probes", "", []string{"networks", "probes", "factor", "baseline", "compare", "fast"}},
	{"repetition", "Repetition", aboutSeries, []string{"blocks", "duration", "warmup", "precision", "max-time", "runs", "every", "episodes", "seed", "swap", "keep-disturbed", "allow-commands", "allow"}},
	{"topology", "Networks that weir builds", "", []string{"hosts", "pods", "pairs", "rounds", "one-at-a-time", "ipv6", "pods-ipv6", "mtu", "link", "delay", "jitter", "loss", "nic"}},
	{"vm", "In a virtual machine", "", []string{"in-vm", "kernel", "vm-cpus", "vm-memory"}},
	{"explanations", "Explanations", "", []string{"profile", "trace"}},
	{"ssh", "Machines over SSH", aboutMachines + "\nMore is in docs/ssh.md.", []string{"ssh", "port", "program"}},
	{"kube", "Kubernetes", aboutMachines + "\n\n" + aboutKube + "\nMore is in docs/kubernetes.md.", []string{"kube", "context", "namespace", "nodes", "image", "shell-image", "pull-secret", "tolerations", "keep", "in-cluster", "volume", "attach"}},
	{"output", "Results", "", []string{"output", "resume", "json", "verbose"}},
}

// usages describes the flags of c with these names.
func usages(c *cobra.Command, names []string) string {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, name := range names {
		if f := c.Flags().Lookup(name); f != nil {
			set.AddFlag(f)
		}
	}
	return strings.TrimRight(set.FlagUsages(), "\n")
}

// headings gives a command with many flags a help of one screen: its first paragraph, the flags that people use first,
// and the topics of the others. Manual pages have all.
func headings(c *cobra.Command, all []heading, first []string) *cobra.Command {
	c.InitDefaultHelpFlag()
	var topics strings.Builder
	for _, h := range all {
		var more []string
		for _, name := range h.flags {
			if !slices.Contains(first, name) && len(more) < 4 && c.Flags().Lookup(name) != nil {
				more = append(more, "--"+name)
			}
		}
		if len(more) == 0 {
			continue
		}
		fmt.Fprintf(&topics, "  weir help %-12s  %s: %s\n", h.topic, h.title, strings.Join(more, ", "))
	}
	about, _, _ := strings.Cut(c.Long, "\n\n")
	c.SetHelpTemplate(about + "\n\n{{.UsageString}}")
	c.SetUsageTemplate("Usage:\n  {{.UseLine}}{{if .HasExample}}\n\nExamples:\n{{.Example}}{{end}}\n\nThe flags that people use first:\n" +
		usages(c, first) + "\n\nMore flags, by topic (weir help flags prints all):\n" + topics.String())
	return c
}

// printTopics prints topics of the flags of run.
func printTopics(w io.Writer, run *cobra.Command, hs ...heading) error {
	var b strings.Builder
	for i, h := range hs {
		if i > 0 {
			b.WriteString("\n")
		}
		if h.about != "" && len(hs) == 1 {
			b.WriteString(h.about + "\n\n")
		}
		b.WriteString(h.title + ", flags of weir run:\n" + usages(run, h.flags) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// allFlags is the topic of all flags.
const allFlags = "flags"

// helpCommand helps with a command, or with a topic.
func helpCommand() *cobra.Command {
	topics := []string{allFlags}
	for _, h := range studyHeadings {
		topics = append(topics, h.topic)
	}
	return &cobra.Command{
		Use:   "help [COMMAND or TOPIC]",
		Short: "Help about a command, or about some of the flags of run",
		Long:  "Help about a command, or about flags of weir run by topic: " + strings.Join(topics, ", ") + ".",
		Example: `  weir help run
  weir help kube`,
		ValidArgsFunction: func(c *cobra.Command, as []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(as) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return append(commandNames(c.Root()), topics...), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, as []string) error {
			root := c.Root()
			if len(as) == 0 {
				root.InitDefaultHelpFlag()
				root.InitDefaultVersionFlag()
				return root.Help()
			}
			if found, rest, err := root.Find(as); err == nil && found != root && len(rest) == 0 {
				found.InitDefaultHelpFlag()
				return found.Help()
			}
			run, _, err := root.Find([]string{"run"})
			if err != nil {
				return err
			}
			if as[0] == allFlags {
				return printTopics(c.OutOrStdout(), run, studyHeadings...)
			}
			if i := slices.IndexFunc(studyHeadings, func(h heading) bool { return h.topic == as[0] }); i >= 0 {
				return printTopics(c.OutOrStdout(), run, studyHeadings[i])
			}
			word := strings.Join(as, " ")
			return usage("no command or topic %q%s", word, andSee(meant(word, append(commandNames(root), topics...)), "weir --help"))
		},
	}
}

// road is the text that weir prints without arguments.
const road = `weir measures what a container network costs, and explains why. To start:

  weir doctor     what can run on this machine
  weir run        measure a bridge and a VXLAN overlay against plain hosts, in about a minute
  weir explain    say why they cost that

weir --help lists all commands, weir help run the flags of a run, and weir list studies
the questions that weir comes with.
`

// commandHeadings sort the commands in weir's help.
var commandHeadings = []struct {
	title    string
	commands []string
}{
	{"Measure", []string{"run", "reproduce", "figure", "bisect", "import", "engine"}},
	{"Read results", []string{"report", "explain", "compare", "pool", "index", "cite", "package", "watch"}},
	{"Look into a network", []string{"plan", "lab", "trace"}},
	{"Prepare", []string{"doctor", "list", "schema", "image"}},
}

// groupCommands sorts the commands of root, those without a heading last.
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
