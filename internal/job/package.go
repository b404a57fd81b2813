package job

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weir-bench/weir"
	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/artifact"
	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/export"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/image"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
)

const (
	packedResults = "results"   // has a directory for each run or series
	packedClaims  = "claims"    // has the claims of each of them and, below its name, the published claims that it tests
	packedScript  = "reproduce" // checks, measures and judges
)

//go:embed reproduce.sh
var reproduceScript []byte

// PackageOptions say what to package.
type PackageOptions struct {
	Tell     lang.Teller
	Dirs     []string          // runs, series, or directories of them
	File     string            // to write
	Programs map[string]string // files of weir by architecture; this program is there for its own architecture
	Authors  []string
}

// A Packaged is an archive that was written.
type Packaged struct {
	Sum       string // of its list of files
	Files     int
	Claims    int // how many it carries
	Published int // how many of them are published
}

// WritePackage writes results, with what it takes to measure them again, as an archive. Equal results and programs make equal
// archives.
func WritePackage(ctx context.Context, o PackageOptions) (p Packaged, err error) {
	if err := replaceable(o.File); err != nil {
		return p, err
	}
	about := export.Package{Authors: o.Authors}
	files := []artifact.File{{Name: packedScript, Body: reproduceScript, Exec: true}, {Name: "LICENSE", Body: weir.License}}
	taken := map[string]string{} // where the results of a study come from
	for _, dir := range o.Dirs {
		for _, one := range resultsIn(dir) {
			packed, more, err := o.results(one)
			if err != nil {
				return p, err
			}
			name := path.Base(packed.Dir)
			if other := taken[name]; other != "" {
				return p, failure.Usage.Errorf("%s and %s are both of the study %s, and a package has one of each; repeat a study as a series (weir run --runs), or package them apart", other, one, name)
			}
			taken[name] = one
			about.Results, files = append(about.Results, packed), append(files, more...)
		}
	}
	claims, err := p.claims(about.Results)
	if err != nil {
		return p, err
	}
	files = append(files, claims...)
	names := slices.Sorted(maps.Keys(taken))
	about.Title = "Results of " + strings.Join(names, ", ")
	programs, err := o.programs()
	if err != nil {
		return p, err
	}
	files = append(files, programs...)
	for _, f := range files {
		if !strings.HasPrefix(f.Name, packedResults+"/") {
			about.Files = append(about.Files, f.Name)
		}
	}
	for _, meta := range []struct {
		name  string
		write func(io.Writer) error
	}{{"CITATION.cff", about.CFF}, {"ro-crate-metadata.json", about.ROCrate}} {
		var b bytes.Buffer
		if err := meta.write(&b); err != nil {
			return p, err
		}
		files = append(files, artifact.File{Name: meta.name, Body: b.Bytes()})
	}
	p.Files = len(files)
	err = store.Stream(o.File, func(w io.Writer) (err error) {
		p.Sum, err = artifact.Write(until{ctx, w}, "weir-"+names[0], about.Ended(), files)
		return err
	})
	return p, failure.Environment.Of(err)
}

// An until writes until it is interrupted.
type until struct {
	context.Context
	io.Writer
}

func (u until) Write(b []byte) (int, error) {
	if u.Err() != nil {
		return 0, context.Cause(u)
	}
	return u.Writer.Write(b)
}

// results returns the files of a run or a series.
func (o PackageOptions) results(dir string) (p export.PackedResults, files []artifact.File, err error) {
	runs, err := store.Runs(dir)
	if err != nil {
		return p, nil, failure.Usage.Errorf("cannot read results from %w", err)
	}
	all, err := LoadAll(runs, false, o.Tell)
	if err != nil {
		return p, nil, err
	}
	p = export.PackedResults{Dir: path.Join(packedResults, asFile(all[0].Spec.Name)), Runs: all}
	names, err := store.Files(dir)
	if err != nil {
		return p, nil, failure.Usage.Of(err)
	}
	for _, f := range names {
		files = append(files, artifact.File{Name: path.Join(p.Dir, f), From: filepath.Join(dir, filepath.FromSlash(f))})
	}
	return p, files, nil
}

// claims returns the files of what results claim, and of the published claims that they test, and counts both.
func (p *Packaged) claims(all []export.PackedResults) (files []artifact.File, _ error) {
	for _, r := range all {
		own, n, err := directions(r.Runs)
		if err != nil {
			return nil, err
		}
		file := path.Join(packedClaims, path.Base(r.Dir))
		if n > 0 {
			files = append(files, artifact.File{Name: file + ".yaml", Body: own})
		}
		ids, err := tested(r, all)
		if err != nil {
			return nil, err
		}
		p.Claims, p.Published = p.Claims+n+len(ids), p.Published+len(ids)
		sources, err := claim.Excerpts(ids)
		if err != nil {
			return nil, err
		}
		for name, text := range sources {
			files = append(files, artifact.File{Name: path.Join(file, name), Body: text})
		}
	}
	return files, nil
}

// tested returns the shipped claims that results test. A claim about a study belongs to the results of that study if
// the package has them, and otherwise to the first results that test it. Claims are about networks that weir builds.
func tested(r export.PackedResults, all []export.PackedResults) (ids []string, _ error) {
	shipped, err := claim.Shipped()
	if err != nil || r.Runs[0].Unpaired || r.Runs[0].Target.Exists() {
		return nil, err
	}
	for _, o := range claim.JudgeRuns(shipped, r.Runs[0].Spec, account.Analyses(r.Runs)) {
		at := slices.IndexFunc(all, func(x export.PackedResults) bool { return path.Base(x.Dir) == o.Claim.Study.Name })
		if at < 0 {
			at = slices.IndexFunc(all, func(x export.PackedResults) bool {
				return !x.Runs[0].Unpaired && !x.Runs[0].Target.Exists() && len(claim.JudgeRuns([]claim.Claim{o.Claim}, x.Runs[0].Spec, account.Analyses(x.Runs))) > 0
			})
		}
		if all[at].Dir == r.Dir {
			ids = append(ids, o.Claim.ID)
		}
	}
	return ids, nil
}

// directions returns what runs claim, checked as a reader checks it. Imported results make no claim that can be
// measured again, and claims are about one pair of machines.
func directions(all []*account.Account) ([]byte, int, error) {
	if all[0].Unpaired || all[0].Analysis.Pairs > 0 {
		return nil, 0, nil
	}
	var b bytes.Buffer
	n, err := export.Directions(&b, all)
	if err != nil || n == 0 {
		return nil, 0, err
	}
	_, err = packedClaimsOf(b.Bytes(), "claims of "+all[0].Name, all[0].Spec)
	return b.Bytes(), n, err
}

// packedClaimsOf reads the claims of a packaged study.
func packedClaimsOf(b []byte, file string, s study.Study) ([]claim.Claim, error) {
	return claim.Load(b, file, func(name string) (study.Study, error) {
		if name != s.Name {
			return claim.ShippedStudy(name)
		}
		return s, nil
	})
}

// programs returns the programs of a package.
func (o PackageOptions) programs() (files []artifact.File, err error) {
	self, err := image.ReadProgram("")
	if err != nil {
		return nil, failure.Environment.Of(err)
	}
	from := map[string]string{self.Arch: ""} // those that were named come first
	maps.Copy(from, o.Programs)
	for _, arch := range slices.Sorted(maps.Keys(from)) {
		p := self
		if from[arch] != "" {
			if p, err = image.ReadProgram(from[arch]); err != nil {
				return nil, failure.Environment.Of(err)
			}
		}
		if p.Arch != arch {
			return nil, failure.Usage.Errorf("--program %s=%s: the program is for %s; write %[3]s=%[2]s", arch, from[arch], p.Arch)
		}
		files = append(files, artifact.File{Name: "bin/weir-" + arch, Body: p.Body, Exec: true})
	}
	for _, arch := range []string{"amd64", "arm64"} {
		if _, there := from[arch]; !there {
			o.Tell.Note(lang.T("the package has no program for %s; --program %[1]s=FILE adds that of a release", arch))
		}
	}
	return files, nil
}

// CheckPackage checks an archive, or its directory. sum, unless "", is the published SHA-256 of its list: whoever
// changes a file can change the list too.
func CheckPackage(name, sum string) (artifact.Checked, error) {
	info, err := os.Stat(name)
	if err != nil {
		return artifact.Checked{}, failure.Usage.Of(err)
	}
	check := artifact.Check
	if info.IsDir() {
		check = artifact.CheckDir
	}
	c, err := check(name)
	switch {
	case errors.Is(err, os.ErrPermission):
		return c, failure.Environment.Of(err)
	case err == nil && sum != "" && !strings.EqualFold(sum, c.Sum):
		err = fmt.Errorf("%s: %s was changed, or this is another package: its SHA-256 is %s, not %s; get the package that has the second", name, artifact.SumsFile, c.Sum, sum)
	}
	return c, failure.Check.Of(err)
}

// PackageOf checks an archive, or its directory, that is to have exactly the results in dir, a run or a series, and returns the
// SHA-256 of its list.
func PackageOf(name, dir string) (string, error) {
	c, err := CheckPackage(name, "")
	if err != nil {
		return "", err
	}
	list, err := store.Sums(dir)
	if err != nil {
		return "", failure.Usage.Of(err)
	}
	want, kinds := slices.Sorted(strings.Lines(string(list))), map[string]bool{}
	for _, line := range want {
		_, file, _ := strings.Cut(strings.TrimSpace(line), "  ")
		kinds[path.Base(file)] = true
	}
	packed := map[string][]string{} // lines by study
	for _, file := range c.Files {
		parts := strings.SplitN(file, "/", 3)
		if len(parts) == 3 && parts[0] == packedResults && strings.Count(parts[2], "/") <= 1 && kinds[path.Base(file)] { // of a run, or of one of a series
			packed[parts[1]] = append(packed[parts[1]], c.Sums[file]+"  "+parts[2]+"\n")
		}
	}
	for _, lines := range packed {
		if slices.Sort(lines); slices.Equal(lines, want) {
			return c.Sum, nil
		}
	}
	return "", failure.Check.Errorf("%s does not have the results in %s as they are; package them again: weir package %[2]s -o %[1]s", name, dir)
}
