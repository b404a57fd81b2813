package job

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/artifact"
	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/strictyaml"
	"github.com/weir-bench/weir/internal/study"
)

// An Unpacked is a package whose files are as listed, in a directory.
type Unpacked struct {
	name    string // as the user named it
	dir     string
	studies []study.Study // that this machine can measure, each named like its directory
	Claims  []claim.Claim // of the package, and published ones of its studies
	cannot  []claim.Outcome
}

// Unpack checks a package and, of an archive, writes its files below dir. To continue in dir, it is to hold the same package.
func Unpack(name, dir string, tell lang.Teller) (*Unpacked, error) {
	u := &Unpacked{name: name, dir: name}
	checked, err := CheckPackage(name)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(name); err == nil && !info.IsDir() {
		u.dir = filepath.Join(dir, "package")
		if err := u.place(checked, dir); err != nil {
			return nil, err
		}
	}
	tell.Say(lang.T("%s: all %d files are as listed; SHA-256 of the list: %s", name, len(checked.Files), checked.Sum))
	shipped, err := claim.Shipped()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(filepath.Join(u.dir, packedResults))
	if err != nil {
		return nil, failure.Usage.Errorf("%s: a package without results: %w", name, err)
	}
	for _, e := range entries {
		if err := u.read(e.Name(), shipped, tell); err != nil {
			return nil, failure.Usage.Errorf("%s: %s: %w", name, e.Name(), err)
		}
	}
	return u, nil
}

// place unpacks the archive below dir, unless it is there.
func (u *Unpacked) place(checked artifact.Checked, dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return failure.Environment.Of(err)
	}
	_, err := artifact.Unpack(u.name, u.dir)
	if !errors.Is(err, fs.ErrExist) {
		return failure.Environment.Of(err)
	}
	there, err := artifact.CheckDir(u.dir)
	if err == nil && there.Sum != checked.Sum {
		err = fmt.Errorf("%s holds another package than %s; use another -o", u.dir, u.name)
	}
	return failure.Usage.Of(err)
}

// results returns the results of a study in the package.
func (u *Unpacked) results(name string) string { return filepath.Join(u.dir, packedResults, name) }

// read reads a study and its claims.
func (u *Unpacked) read(name string, shipped []claim.Claim, tell lang.Teller) error {
	if asFile(name) != name {
		return fmt.Errorf("%q is no name of results in a package", name)
	}
	runs, err := store.Runs(u.results(name))
	if err != nil {
		return err
	}
	s, err := StoredStudy(runs[0])
	if err != nil {
		return err
	}
	file := filepath.Join(u.dir, packedClaims, name+".yaml")
	b, err := foreign.ReadFile(file, strictyaml.MaxSource)
	var own []claim.Claim
	if err == nil {
		own, err = packedClaimsOf(b, file, s)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s.Name = name
	for i := range own {
		own[i].Study.Name = name
	}
	for _, c := range shipped {
		if c.Study.Name == name {
			own = append(own, c)
		}
	}
	why := lang.Text("")
	switch {
	case s.Target.Exists():
		why = lang.T("it was measured on %s, and weir builds only its own networks here", place.About(s.Target))
	case RanInVM(runs[0]):
		why = lang.T("it was measured in a virtual machine; weir run --in-vm measures its study")
	}
	if why == "" {
		u.studies, u.Claims = append(u.studies, s), append(u.Claims, own...)
		return nil
	}
	tell.Warn(lang.T("%s: %s", name, why))
	for _, c := range own {
		u.cannot = append(u.cannot, c.Cannot(why))
	}
	return nil
}

// A Both is a study of a package and of this machine on one page.
type Both struct {
	File string // that shows it
	Page *doc.Document
}

// NamesPackage reports whether an argument of weir reproduce is a package, and not a claim.
func NamesPackage(name string) bool {
	_, err := os.Stat(name)
	return err == nil || strings.Contains(name, "/") || strings.HasSuffix(name, ".gz")
}

// Both returns a page for each study that was measured again, and stores it among the results.
func (r *Reproduction) Both() (pages []Both, _ error) {
	if r.Package == nil {
		return nil, nil
	}
	for _, s := range r.Studies {
		here := filepath.Join(r.Dir, s.Name)
		if !slices.ContainsFunc(r.Package.studies, func(p study.Study) bool { return p.Name == s.Name }) {
			continue
		}
		page, err := Together([]string{r.Package.results(s.Name), here}, r.Keep)
		if err != nil {
			r.Tell.Warn(lang.Text(err.Error()))
			continue
		}
		dir := both(filepath.Join(r.Dir, "both-"+s.Name))
		if err := r.writeReports(dir, page); err != nil {
			return nil, failure.Environment.Of(err)
		}
		pages = append(pages, Both{string(dir) + ".html", page})
	}
	return pages, nil
}

// both is where pages about a package and this machine go: files that begin with its name.
type both string

func (b both) File(name string, content []byte) error {
	return store.WriteFile(string(b)+filepath.Ext(name), content)
}
