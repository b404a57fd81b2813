// Package cli is the command line: one file per subcommand. A command parses its arguments, calls
// one package and prints. Results go to stdout, progress and messages to stderr.
package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/caught"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/rootless"
	"github.com/weir-bench/weir/internal/target/remote"
)

func usage(format string, args ...any) error { return failure.Usage.Errorf(format, args...) }

// toStart is how many threads and processes a command needs at least.
const toStart = 12

// Main runs the command line and returns the exit status.
func Main(version string, args []string) int {
	version = releaseOf(version, buildInfo())
	remote.Version = version
	root := Command(version)
	root.SetArgs(args)
	ctx, stop := interruptible(readsOnly(root, args))
	defer stop()
	language = lang.Of(os.Getenv) // until the flags are read
	err := failure.Environment.Of(errors.Join(rootless.Room(toStart), ownPath(), confineReader(root, args)))
	if err == nil {
		err = caught.Error(func() error { return root.ExecuteContext(ctx) })
	}
	var kind *failure.Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, new(*interruption)):
		err = failure.Interrupted.Of(err)
	case errors.Is(err, rootless.ErrForbidden):
		err = failure.Environment.Of(err)
	case errors.As(err, &kind):
		err = kind
	case errors.As(err, new(*fs.PathError)): // such as output to a full disk
		err = failure.Environment.Of(err)
	}
	if msg := err.Error(); msg != "" {
		say := func() { fmt.Fprintln(os.Stderr, "weir:", foreign.Text(msg)) }
		if errors.As(err, new(*interruption)) {
			ending.Do(say)
		} else {
			say()
		}
	}
	return failure.Status(err)
}

// Command returns the command line, from which the manual pages and completions of a release are made.
func Command(version string) *cobra.Command {
	root := &cobra.Command{
		Use:   "weir",
		Short: "Measure what a container network costs, and explain why",
		Long: `Weir builds container networks on one machine (without root, if the kernel
allows) or uses those of machines and clusters (--ssh, --kube), measures them as a
designed experiment, and reports what each one costs.

Exit status: 0 done; 1 a check failed; 2 usage error; 3 this machine, or one
that is measured, cannot do it; 4 interrupted, can be resumed.`,
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,

		PersistentPreRunE: func(c *cobra.Command, as []string) error {
			return cmp.Or(notEmpty(c, as), speak(c))
		},
		Args: args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(os.Stdout, road)
			return err
		},
	}
	root.PersistentFlags().String("lang", "", "language of reports: en or zh (default: that of LC_ALL, LC_MESSAGES or LANG, else en)")
	root.SetVersionTemplate("weir {{.Version}}\n")
	root.SetFlagErrorFunc(wrongFlag)
	root.AddCommand(runCommand(version), reproduceCommand(version), figureCommand(version), reportCommand(), citeCommand(), packageCommand(), indexCommand(), explainCommand(version), compareCommand(), poolCommand(), bisectCommand(version), importCommand(), planCommand(), labCommand(),
		listCommand(), schemaCommand(), doctorCommand(), versionCommand(version), watchCommand(), traceCommand(), engineCommand(), hostCommand(), relayCommand(), kubeAPICommand(), distanceCommand(), cniCommand(), guestCommand(), imageCommand(version), pauseCommand(), tapCommand(), sweepCommand(), agentCommand(), coordinateCommand(version), samplerCommand(), redirectCommand(), outliveCommand())
	root.SetHelpCommand(helpCommand())
	groupCommands(root)
	decimals(root)
	return root
}

// complete completes a comma-separated list of names.
func complete(names []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		i := strings.LastIndexByte(toComplete, ',') + 1
		done, last := toComplete[:i], toComplete[i:]
		var out []string
		for _, n := range names {
			if strings.HasPrefix(n, last) {
				out = append(out, done+n)
			}
		}
		slices.Sort(out)
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}
