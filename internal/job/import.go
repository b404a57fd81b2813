package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/weir-bench/weir/internal/bounds"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/imported"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/record"
)

// ImportOptions say what to import.
type ImportOptions struct {
	Dir       string             // for the results, new or of an earlier import; "": one named after the time
	Network   string             // of all the files; "": that of their paths
	Probe     string             // what the files measured, if they do not say
	Baseline  string             // network that divides the others; "": host, or the first
	As        *imported.Template // of paths; nil: none
	Factors   []string           // facts that the files state, to compare as factors
	Recursive bool               // import the files below directories
	Command   []string           // is stored with the results
	Stdin     io.Reader          // the file "-"
}

// Imported is the outcome of an import. Other counts the files that do not fit the template.
type Imported struct {
	Dir, Baseline          string
	Files, Imported, Other int
	Refused                []imported.Refusal
	Results, Networks      int // in Dir, also those of earlier imports
}

// Import turns outputs of other tools into results. A file that cannot be imported is refused, and the others are
// imported.
func Import(ctx context.Context, o ImportOptions, paths []string) (out Imported, err error) {
	x := importer{ImportOptions: o}
	set, earlier, err := x.open()
	if err != nil {
		return out, err
	}
	all, err := x.list(set, paths)
	if err != nil {
		return out, err
	}
	for _, path := range all {
		if err := context.Cause(ctx); err != nil {
			return out, err
		}
		x.add(set, path)
	}
	if err := x.divide(set, len(earlier) > 0); err != nil {
		return out, err
	}
	if len(x.inputs) > 0 {
		if err := x.write(set); err != nil {
			return out, failure.Environment.Of(err)
		}
	}
	return Imported{x.Dir, set.Study.Baseline, x.files, len(x.inputs), x.other, x.refused, len(earlier) + len(set.Results), len(set.Study.Networks)}, nil
}

type importer struct {
	ImportOptions
	files, other int
	refused      []imported.Refusal
	inputs       []input
}

// divide chooses the network that divides the others.
func (x *importer) divide(set *imported.Set, again bool) error {
	_, host := set.Study.Network("host")
	switch {
	case x.Baseline != "":
		if _, ok := set.Study.Network(x.Baseline); !ok && len(set.Study.Networks) > 0 {
			return failure.Usage.Errorf("--baseline: no file belongs to network %q; the networks are %s", imported.Clean(x.Baseline), study.Names(set.Study.Networks))
		}
		set.Study.Baseline = x.Baseline
	case host && !again:
		set.Study.Baseline = "host"
	}
	return nil
}

// An input is a file with results. Storing reads it again, unless that is impossible; then bytes holds it.
type input struct {
	path    string
	bytes   []byte
	results []record.Result
}

// open reads the results of an earlier import, if x.Dir holds one.
func (x *importer) open() (_ *imported.Set, earlier []record.Result, _ error) {
	if x.Dir == "" {
		x.Dir = filepath.Join("weir-results", "imported-"+time.Now().Format("20060102-150405"))
	}
	entries, err := os.ReadDir(x.Dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return imported.NewSet(imported.Manifest{}, imported.New(), nil, nil), nil, nil
	}
	c, readErr := store.Read(x.Dir)
	switch {
	case err != nil || readErr != nil:
		return nil, nil, failure.Usage.Errorf("-o: cannot add to %s: %w", x.Dir, cmp.Or(err, readErr))
	case c.Imported == nil:
		return nil, nil, failure.Usage.Errorf("-o: %s holds results that weir measured; imported ones have no blocks and do not mix with them: use another -o", x.Dir)
	}
	var m imported.Manifest
	var described []imported.Described
	s, err := study.Load(c.Study, filepath.Join(x.Dir, "study.yaml"))
	if err := errors.Join(err, bounds.JSON(c.Imported, &m), bounds.JSON(c.Probes, &described)); err != nil {
		return nil, nil, failure.Usage.Errorf("-o: cannot add to %s: %w; use another -o", x.Dir, err)
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
		if !x.Recursive {
			return nil, failure.Usage.Errorf("%s is a directory; add -r to import the files below it", path)
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
			return nil, failure.Environment.Of(err)
		}
	}
	return all, nil
}

// place returns where a file belongs; false if its path does not fit the template.
func (x *importer) place(path string) (p imported.Assignment, ok bool) {
	if x.As != nil {
		if p, ok = x.As.Assign(filepath.ToSlash(path)); !ok {
			return p, false
		}
	}
	p.Network, p.Factors = cmp.Or(x.Network, p.Network), x.Factors
	if abs, err := filepath.Abs(path); err == nil && p.Network == "" && path != "-" {
		p.Network = filepath.Base(filepath.Dir(abs))
	}
	return p, true
}

// add imports one file, or lists it as refused, with the reason.
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
	x.refused = append(x.refused, imported.Refusal{Path: path, Reason: reason})
	set.Refuse(path, reason)
}

func (x *importer) read(set *imported.Set, in *input) error {
	b, again, err := x.readFile(in.path)
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
	in.results, err = set.Add(in.path, b, p, x.Probe)
	return err
}

// readFile reads a bounded file, "-" for standard input. again is whether it can be read again.
func (x *importer) readFile(path string) (b []byte, again bool, err error) {
	if path == "-" {
		b, err = bounded(x.Stdin)
		return b, false, err
	}
	f, err := foreign.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		var p *fs.PathError
		if errors.As(err, &p) {
			err = p.Err // the path is in front of every reason
		}
		return nil, false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, false, err
	}
	b, err = bounded(f)
	return b, info.Mode().IsRegular(), err
}

func bounded(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, imported.MaxSize+1))
	if err == nil && len(b) > imported.MaxSize {
		err = fmt.Errorf("more than %d MiB: no tool prints that much for one test", imported.MaxSize>>20)
	}
	return b, err
}

// write stores the new results. The description comes first, so that a killed import can be repeated.
func (x *importer) write(set *imported.Set) (err error) {
	set.Commands = append(set.Commands, x.Command)
	yaml, err := set.Study.Encode()
	if err != nil {
		return err
	}
	d, err := store.Open(x.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		d, err = store.Create(x.Dir)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if err := errors.Join(d.JSON("imported.json", set.Manifest), d.File("study.yaml", yaml), d.JSON("probes.json", set.Probes)); err != nil {
		return err
	}
	var batch []*record.Result
	for _, in := range x.inputs {
		b := in.bytes
		if b == nil {
			if b, _, err = x.readFile(in.path); err != nil {
				return fmt.Errorf("%s: %w", imported.Shown(in.path), err)
			}
		}
		if !imported.Matches(b, in.results[0]) {
			return fmt.Errorf("%s changed during the import; import it again", imported.Shown(in.path))
		}
		if err := d.Raw(in.results[0].Trial, imported.FileName(filepath.ToSlash(in.path)), b); err != nil {
			return err
		}
		for i := range in.results {
			batch = append(batch, &in.results[i])
		}
		if len(batch) >= synced {
			if err := d.Append(batch...); err != nil {
				return err
			}
			batch = nil
		}
	}
	return d.Append(batch...)
}

// synced is how many results reach the disk together: each time takes milliseconds.
const synced = 200
