package job

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
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
	"github.com/weir-bench/weir/internal/report/published"
	"github.com/weir-bench/weir/internal/report/several"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/strictyaml"
	"github.com/weir-bench/weir/internal/study"
)

// An Unpacked is a package whose files are as listed, in a directory.
type Unpacked struct {
	name    string // as the user named it
	dir     string
	studies []study.Study   // that this machine can measure, each named like its directory
	Claims  []claim.Claim   // that it carries
	there   []claim.Outcome // what its own results say about them
	cannot  []claim.Outcome
}

// Unpack checks a package and, if it is an archive, writes its files below dir. If dir exists, it must hold the same
// package. sum is as for CheckPackage.
func (o ReproduceOptions) Unpack(name, sum, dir string) (*Unpacked, error) {
	u := &Unpacked{name: name, dir: name}
	checked, err := CheckPackage(name, sum)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(name); err == nil && !info.IsDir() {
		u.dir = filepath.Join(dir, "package")
		if err := u.place(checked, dir); err != nil {
			return nil, err
		}
	}
	o.Tell.Say(lang.T("%s: all %d files are as listed; SHA-256 of the list: %s", name, len(checked.Files), checked.Sum))
	entries, err := os.ReadDir(filepath.Join(u.dir, packedResults))
	if err != nil {
		return nil, failure.Usage.Errorf("%s: a package without results: %w", name, err)
	}
	for _, e := range entries {
		if err := o.readPacked(u, e.Name()); err != nil {
			return nil, failure.Usage.Errorf("%s: %s: %w", name, e.Name(), err)
		}
	}
	return u, nil
}

// All lists the claims that the package carries, also those that no machine can measure again.
func (u *Unpacked) All() []claim.Claim {
	all := slices.Clone(u.Claims)
	for _, o := range u.cannot {
		all = append(all, o.Claim)
	}
	return all
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

// readPacked reads a study of a package and its claims, and judges them by the results of the package.
func (o ReproduceOptions) readPacked(u *Unpacked, name string) error {
	if asFile(name) != name {
		return fmt.Errorf("%q is not a name of results in a package", name)
	}
	runs, err := store.Runs(u.results(name))
	if err != nil {
		return err
	}
	s, err := StoredStudy(runs[0])
	if err != nil {
		return err
	}
	own, err := u.claimsOf(name, s)
	if err != nil {
		return err
	}
	s.Name = name
	o.Claims = own
	_, there, err := o.judge(u.results(name))
	if err != nil {
		return err
	}
	u.there = append(u.there, there...)
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
	o.Tell.Warn(lang.T("%s: %s", name, why))
	for _, c := range own {
		u.cannot = append(u.cannot, c.Cannot(why))
	}
	return nil
}

// claimsOf reads the claims that the results of a study carry. All of them are tested by that study.
func (u *Unpacked) claimsOf(name string, s study.Study) (all []claim.Claim, _ error) {
	root := os.DirFS(filepath.Join(u.dir, packedClaims))
	below, _ := fs.Glob(root, path.Join(name, "*.yaml")) // the name has no meta characters
	for _, file := range append([]string{name + ".yaml"}, below...) {
		file = filepath.Join(u.dir, packedClaims, filepath.FromSlash(file))
		b, err := foreign.ReadFile(file, strictyaml.MaxSource)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var some []claim.Claim
		if err == nil {
			some, err = packedClaimsOf(b, file, s)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	for i := range all {
		all[i].Study.Name = name
	}
	return all, nil
}

// A Both is a page about a package and this machine.
type Both struct {
	File string // that shows it
	Page *doc.Document
}

// NamesPackage reports whether an argument of weir reproduce is a package, and not a claim.
func NamesPackage(name string) bool {
	_, err := os.Stat(name)
	return err == nil || strings.Contains(name, "/") || strings.HasSuffix(name, ".gz")
}

// Again returns what holds of the package on this machine, and a page for each study that was measured again, and stores all of
// them among the results.
func (r *Reproduction) Again(here []claim.Outcome) (verdicts Both, pages []Both, _ error) {
	var conditions [2][]map[string][]byte // of the package's runs, and of those here
	for _, s := range r.Studies {
		if !slices.ContainsFunc(r.Package.studies, func(p study.Study) bool { return p.Name == s.Name }) {
			continue
		}
		groups, err := accounts([]string{r.Package.results(s.Name), filepath.Join(r.Dir, s.Name)}, r.Keep)
		if err != nil {
			return verdicts, nil, err
		}
		for side, runs := range groups {
			for _, one := range runs {
				conditions[side] = append(conditions[side], one.Conditions())
			}
		}
		page, err := together(groups)
		if err != nil {
			r.Tell.Warn(lang.Text(err.Error()))
			continue
		}
		one, err := r.storeBoth("both-"+s.Name, page)
		if err != nil {
			return verdicts, nil, err
		}
		pages = append(pages, one)
	}
	page := published.Again(r.Package.there, here)
	page.Title = filepath.Base(filepath.Clean(r.Package.name))
	if conditions[0] != nil {
		page.Sections = append(page.Sections, several.Differ([2]string{string(lang.T("there")), string(lang.T("here"))}, conditions[0], conditions[1]))
	}
	page.Sections = append(page.Sections, pagesSection(pages))
	page.Identify()
	verdicts, err := r.storeBoth("verdicts", page)
	return verdicts, pages, err
}

// pagesSection lists the pages about both machines, on the page that stands next to them.
func pagesSection(pages []Both) doc.Section {
	t := doc.Table{ID: "studies-table", Prose: true, Columns: []doc.Column{{Head: string(lang.T("all numbers of both machines")), Left: true}}}
	for _, p := range pages {
		file := filepath.Base(p.File)
		t.Rows = append(t.Rows, doc.Row{Cells: []doc.Cell{{Text: file, Link: file}}})
	}
	return doc.Section{ID: "studies", Title: string(lang.T("Study by study")), Tables: []doc.Table{t}, In: []doc.Medium{doc.Page, doc.Markdown}}
}

// storeBoth stores a page about the package and this machine.
func (r *Reproduction) storeBoth(name string, page *doc.Document) (Both, error) {
	at := both(filepath.Join(r.Dir, name))
	err := r.writeReports(at, page)
	return Both{string(at) + ".html", page}, failure.Environment.Of(err)
}

// both is where pages about a package and this machine go: files that begin with its name.
type both string

func (b both) File(name string, content []byte) error {
	return store.WriteFile(string(b)+filepath.Ext(name), content)
}
