package cli

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/rootless"
)

// privateMost bounds a file of NAME:BYTES.
const privateMost = 64 << 20

// insideArg is how privateCommand calls itself in the new namespaces.
const insideArg = "--inside"

// privateCommand runs servers that need files of their own, or an ordinary user.
func privateCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "private NAME=CONTENT|NAME:BYTES... -- COMMAND... [-- COMMAND...]...",
		Short:              "Run programs one after the other, as nobody, with files in memory that nobody else sees",
		DisableFlagParsing: true, // all that follows belongs to the commands
		RunE: func(c *cobra.Command, as []string) error {
			inside := len(as) > 0 && as[0] == insideArg
			if !inside {
				n, err := rootless.Private(append([]string{"host", "private", insideArg}, as...))
				if err != nil {
					return failure.Environment.Of(err)
				}
				return failure.Ended(n)
			}
			files, commands, err := privateArgs(as[1:])
			if err != nil {
				return err
			}
			n, err := rootless.InPrivate(c.Context(), files, commands)
			if err != nil {
				return failure.Environment.Of(err)
			}
			return failure.Ended(n)
		},
	}
}

func privateArgs(as []string) (files map[string]string, commands [][]string, err error) {
	files = map[string]string{}
	for len(as) > 0 && as[0] != "--" {
		name, content, ok := strings.Cut(as[0], "=")
		if !ok {
			var size string
			name, size, _ = strings.Cut(as[0], ":")
			n, err := strconv.Atoi(size)
			if ok = err == nil && n >= 0 && n <= privateMost; ok {
				content = strings.Repeat("x", n)
			}
		}
		if !ok || name == "" || strings.ContainsRune(name, os.PathSeparator) {
			return nil, nil, usage("invalid file %q: want NAME=CONTENT or NAME:BYTES, NAME without a slash and BYTES up to %d", as[0], privateMost)
		}
		files[name], as = content, as[1:]
	}
	for len(as) > 0 {
		as = as[1:]
		n := slices.Index(append(slices.Clone(as), "--"), "--")
		if n == 0 {
			return nil, nil, usage("weir host private NAME=CONTENT... -- COMMAND... [-- COMMAND...]...: no command after --")
		}
		argv := slices.Clone(as[:n])
		if path := facts.Find(argv[0]); path != "" {
			argv[0] = path // administrators' programs are outside of others' PATH
		}
		commands, as = append(commands, argv), as[n:]
	}
	if len(commands) == 0 {
		return nil, nil, usage("weir host private NAME=CONTENT... -- COMMAND... [-- COMMAND...]...: no command")
	}
	return files, commands, nil
}
