package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/imported"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/record"
)

func importCommand() *cobra.Command {
	var x importer
	var as string
	c := &cobra.Command{
		Use:   "import FILE…",
		Short: "Turn outputs of other tools that you already have into results",
		Long: `Turn outputs of other tools into results, for weir report and weir compare. Weir
recognizes the outputs of iperf3 (JSON, text), iperf 2 (text, -y C), netperf (tables,
omni), sockperf, nuttcp, qperf, fping, osu_latency, osu_bw and NetPIPE, in any units. It
takes what arrived, not what was sent, and refuses a file that does not state it.

The network of a file is its directory's name, or --network, or a part of its path: in
--as, {network} and {probe} name those, {n} tells repetitions apart, and any other name in
braces is a factor. Options that the output states, such as the size or the number of
streams, become factors by themselves.

The results have no blocks: nothing is paired, and intervals rest on how the files of a
cell differ. Importing again with the same -o adds to the results. Exit status 1: a file
was refused; the others are imported.`,
		Example: `  weir import --network calico calico-1.json calico-2.json -o cluster
  weir import --network flannel flannel-*.json -o cluster      # adds to it
  weir import -r outputs --as '{network}/{n}/{probe}-client.stdout' --baseline baremetal
  iperf -c server -y C | weir import - --network lan --probe iperf2-tcp
  weir report cluster`,
		Args: args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, paths []string) error {
			if as != "" {
				t, err := imported.ParseTemplate(as)
				if err != nil {
					return usage("--as: %w", err)
				}
				x.as = t
			}
			return x.run(cmd.Context(), paths)
		},
	}
	f := c.Flags()
	f.StringVarP(&x.dir, "output", "o", "", "directory for the results, new or of an earlier import (default weir-results/imported-TIME)")
	f.StringVar(&x.network, "network", "", "network of all the files")
	f.StringVar(&as, "as", "", "how paths name the network, the probe and further factors")
	f.StringVar(&x.probe, "probe", "", "what the files measured, if they do not say: iperf2-tcp for -y C, netpipe-tcp")
	f.StringVar(&x.baseline, "baseline", "", "network that divides the others (default host, or the first)")
	f.BoolVarP(&x.recursive, "recursive", "r", false, "import the files below directories; with --as, those that fit it")
	f.StringSliceVar(&x.factors, "factor", nil, "facts that the files state, to compare as factors: datagram (of iperf3's UDP), congestion, kernel, host, tool")
	_ = c.MarkFlagDirname("output")
	_ = c.RegisterFlagCompletionFunc("probe", complete(catalog.Names(catalog.Probes)))
	return c
}

// An importer is one weir import.
type importer struct {
	dir, network, probe, baseline string
	as                            *imported.Template
	factors                       []string
	recursive                     bool

	files, refused, other int // other files do not fit the template
	inputs                []input
}

// An input is a file with results. Storing reads it again, unless that is impossible: bytes then holds it.
type input struct {
	path    string
	bytes   []byte
	results []record.Result
}

func (x *importer) run(ctx context.Context, paths []string) error {
	if x.network != "" && x.as != nil && x.as.Names("network") {
		return usage("--network and {network} in --as both name the network; use one")
	}
	if err := (imported.Place{Network: x.network}).Check(); err != nil {
		return usage("--network: %w", err)
	}
	set, earlier, err := x.open()
	if err != nil {
		return err
	}
	all, err := x.list(set, paths)
	if err != nil {
		return err
	}
	for _, path := range all {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		x.add(set, path)
	}
	if x.baseline != "" {
		if _, ok := set.Study.Network(x.baseline); !ok && len(set.Study.Networks) > 0 {
			return usage("--baseline: no file belongs to network %q; the networks are %s", imported.Clean(x.baseline), study.Names(set.Study.Networks))
		}
		set.Study.Baseline = x.baseline
	} else if _, ok := set.Study.Network("host"); ok && earlier == nil {
		set.Study.Baseline = "host"
	}
	if len(x.inputs) > 0 {
		if err := x.write(set); err != nil {
			return exit(exitEnvironment, err)
		}
	}
	return x.summarize(set, len(earlier)+len(set.Results))
}

// open reads the results of an earlier import, if x.dir holds one.
func (x *importer) open() (_ *imported.Set, earlier []record.Result, _ error) {
	if x.dir == "" {
		x.dir = filepath.Join("weir-results", "imported-"+time.Now().Format("20060102-150405"))
	}
	entries, err := os.ReadDir(x.dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return imported.NewSet(imported.Manifest{}, imported.New(), nil, nil), nil, nil
	}
	c, readErr := store.Read(x.dir)
	switch {
	case err != nil || readErr != nil:
		return nil, nil, usage("-o: cannot add to %s: %w", x.dir, cmp.Or(err, readErr))
	case c.Imported == nil:
		return nil, nil, usage("-o: %s holds results that weir measured; imported ones have no blocks and do not mix with them: use another -o", x.dir)
	}
	var m imported.Manifest
	var described []imported.Described
	s, err := study.Load(c.Study, filepath.Join(x.dir, "study.yaml"))
	if err := errors.Join(err, json.Unmarshal(c.Imported, &m), json.Unmarshal(c.Probes, &described)); err != nil {
		return nil, nil, usage("-o: cannot add to %s: %w; use another -o", x.dir, err)
	}
	return imported.NewSet(m, s, described, c.Results), c.Results, nil
}

// list returns the files that the arguments stand for. Below a directory it takes regular files only: a pipe
// would wait for a writer.
func (x *importer) list(set *imported.Set, paths []string) (all []string, _ error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if path == "-" || err != nil || !info.IsDir() { // add reports the error
			all = append(all, path)
			continue
		}
		if !x.recursive {
			return nil, usage("%s is a directory; add -r to import the files below it", path)
		}
		err = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() {
				return nil
			}
			if _, ok := x.place(name); !ok {
				x.other++
				return nil
			}
			if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
				x.refuse(set, name, errors.New("not a regular file"))
				return nil
			}
			all = append(all, name)
			return nil
		})
		if err != nil {
			return nil, exit(exitEnvironment, err)
		}
	}
	return all, nil
}

// place returns where a file belongs; false if its path does not fit the template.
func (x *importer) place(path string) (p imported.Place, ok bool) {
	if x.as != nil {
		if p, ok = x.as.Place(filepath.ToSlash(path)); !ok {
			return p, false
		}
	}
	p.Network, p.Factors = cmp.Or(x.network, p.Network), x.factors
	if abs, err := filepath.Abs(path); err == nil && p.Network == "" && path != "-" {
		p.Network = filepath.Base(filepath.Dir(abs))
	}
	return p, true
}

// add imports one file, or names it with the reason.
func (x *importer) add(set *imported.Set, path string) {
	in := input{path: path}
	if err := x.read(set, &in); err != nil {
		x.refuse(set, path, err)
		return
	}
	x.files++
	x.inputs = append(x.inputs, in)
}

func (x *importer) refuse(set *imported.Set, path string, reason error) {
	x.files++
	x.refused++
	set.Refuse(path, reason)
	fmt.Fprintf(os.Stderr, "weir: %s: %s\n", shown(path), imported.Clean(reason.Error()))
}

func (x *importer) read(set *imported.Set, in *input) error {
	b, again, err := readFile(in.path)
	if err != nil {
		return err
	}
	p, ok := x.place(in.path)
	switch err := p.Check(); {
	case !ok:
		return errors.New("the path does not fit --as")
	case p.Network == "":
		return errors.New("standard input has no directory; name the network with --network")
	case err != nil:
		return err
	}
	if !again {
		in.bytes = b
	}
	in.results, err = set.Add(in.path, b, p, x.probe)
	return err
}

// readFile reads a bounded file, "-" for standard input. again is whether it can be read again.
func readFile(path string) (b []byte, again bool, err error) {
	f := os.Stdin
	if path != "-" {
		if f, err = os.Open(path); err != nil {
			var p *fs.PathError
			if errors.As(err, &p) {
				err = p.Err // the path is in front of every reason
			}
			return nil, false, err
		}
		defer f.Close()
	}
	info, err := f.Stat()
	if err != nil {
		return nil, false, err
	}
	b, err = io.ReadAll(io.LimitReader(f, imported.MaxSize+1))
	if err == nil && len(b) > imported.MaxSize {
		err = fmt.Errorf("more than %d MiB: no tool prints that much for one test", imported.MaxSize>>20)
	}
	return b, path != "-" && info.Mode().IsRegular(), err
}

// write stores the new results. The description comes first, so that a killed import can be repeated.
func (x *importer) write(set *imported.Set) (err error) {
	set.Commands = append(set.Commands, append([]string{"weir"}, os.Args[1:]...))
	yaml, err := set.Study.Encode()
	if err != nil {
		return err
	}
	d, err := store.Open(x.dir)
	if errors.Is(err, fs.ErrNotExist) {
		d, err = store.Create(x.dir)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if err := errors.Join(d.JSON("imported.json", set.Manifest), d.File("study.yaml", yaml), d.JSON("probes.json", set.Probes)); err != nil {
		return err
	}
	for _, in := range x.inputs {
		b := in.bytes
		if b == nil {
			if b, _, err = readFile(in.path); err != nil {
				return fmt.Errorf("%s: %w", shown(in.path), err)
			}
		}
		if !imported.Matches(b, in.results[0]) {
			return fmt.Errorf("%s changed during the import; import it again", shown(in.path))
		}
		if err := d.Raw(in.results[0].Trial, imported.FileName(filepath.ToSlash(in.path)), b); err != nil {
			return err
		}
		for i := range in.results {
			if err := d.Append(&in.results[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *importer) summarize(set *imported.Set, results int) error {
	line := lang.T("%d files: %d imported, %d refused", x.files, len(x.inputs), x.refused)
	if x.files == 1 {
		line = lang.T("1 file: %d imported, %d refused", len(x.inputs), x.refused)
	}
	if x.other > 0 {
		line += lang.T("; %d more do not fit --as", x.other)
	}
	fmt.Println(said(line))
	if len(x.inputs) > 0 {
		fmt.Println(said(lang.T("%d results of %d networks in %s, divided by %s; read them with: weir report %s",
			results, len(set.Study.Networks), shown(x.dir), set.Study.Baseline, shown(x.dir))))
	}
	switch {
	case x.files == 0:
		return errors.New("no file to import")
	case x.refused > 0:
		return fmt.Errorf("%d of %d files refused", x.refused, x.files)
	}
	return nil
}

// shown returns a path for a terminal: quoted if it holds control characters.
func shown(path string) string {
	if imported.Clean(path) == path {
		return path
	}
	return strconv.Quote(path)
}
