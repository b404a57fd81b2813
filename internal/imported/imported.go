// Package imported turns outputs that users already have into results: which tool printed them, which
// cell they belong to, and the study that describes them. There are no blocks: every result is a sample
// of its own, so nothing is paired.
//
// It must not read or write files; package cli does. What tools print is package probe's.
package imported

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/record"
)

// MaxSize is the most bytes of one output. iperf3 prints about 3 MB for 128 streams in a minute.
const MaxSize = 32 << 20

// MaxResults bounds the results of a directory.
const MaxResults = study.MaxBlocks

const Source = "source"

// A Manifest is the file imported.json, which marks a results directory as imported.
type Manifest struct {
	Commands [][]string `json:"commands"` // that imported, in order
	Files    []File     `json:"files"`
}

// A File is one input: imported or refused.
type File struct {
	Path   string   `json:"path"` // as the user named it
	SHA256 string   `json:"sha256,omitempty"`
	Tool   string   `json:"tool,omitempty"`
	Trials []string `json:"trials,omitempty"`
	// Reason says why the file was refused; "" if it was imported.
	Reason string `json:"reason,omitempty"`
}

// An Assignment says where a file belongs.
type Assignment struct {
	Network string            // its network
	Probe   string            // name of the probe in the results; "" is the tool's own
	Levels  map[string]string // of further factors
	// Factors are keys of Observed that are factors here, such as "congestion".
	Factors []string
}

// A Set describes all results of a directory, and holds those that are new.
type Set struct {
	Manifest
	Study   study.Study
	Probes  []Described // in the order of Study.Probes
	Results []record.Result

	paths    map[string]bool   // of files, whether each was imported
	recorded map[string]string // the source of each trial, by the trial's mark
	sizes    map[string]int    // the datagrams of each cell
	blocks   int
}

// A Described is the description of a probe, as catalog.Described stores it.
type Described struct {
	Name string `json:"name"`
	probe.Info
}

// NewSet returns the set of a directory with these earlier results; the study is New's for a new one.
func NewSet(m Manifest, s study.Study, described []Described, results []record.Result) *Set {
	set := &Set{Manifest: m, Study: s, Probes: described, paths: map[string]bool{}, recorded: map[string]string{}, sizes: map[string]int{}}
	for _, f := range m.Files {
		set.paths[f.Path] = set.paths[f.Path] || f.Reason == ""
	}
	for _, r := range results {
		set.sizes[cell(r)] = record.Datagram.Of(r.Observed)
		set.blocks = max(set.blocks, r.Block)
		set.recorded[r.Trial[:min(len(r.Trial), markSize)]] = record.Source.Of(r.Observed)
	}
	return set
}

// mark begins the trial of the nth result of an output. It depends on nothing but the output's bytes, so
// that no measurement counts twice, and an import that was killed can be repeated.
func mark(hash string, n int) string { return fmt.Sprintf("%s-%04d", hash[:12], n) }

const (
	markSize   = len("0123456789ab-0001")
	maxPerFile = 9999 // results that marks of this size tell apart
)

// Refuse records that a file was not imported, once. A file that was imported before stays so.
func (s *Set) Refuse(path string, reason error) {
	imported, again := s.paths[path]
	if imported {
		return
	}
	if again {
		s.Files = slices.DeleteFunc(s.Files, func(f File) bool { return f.Path == path })
	}
	s.paths[path] = false
	s.Files = append(s.Files, File{Path: path, Reason: Clean(reason.Error())})
}

// Add reads one output and adds its results. kind is the probe that the user states, or "". An error
// leaves the set as it was.
func (s *Set) Add(path string, b []byte, at Assignment, kind string) ([]record.Result, error) {
	sum := sha256.Sum256(b)
	hash := hex.EncodeToString(sum[:])
	text, err := Text(b)
	if err != nil {
		return nil, err
	}
	statements, err := probe.Read(text, kind)
	if err != nil {
		return nil, err
	}
	if len(statements) > maxPerFile {
		return nil, fmt.Errorf("%d results in one file: split it into files of at most %d", len(statements), maxPerFile)
	}
	if s.blocks+len(statements) > MaxResults {
		return nil, fmt.Errorf("more than %d results in one directory; use another -o", MaxResults)
	}
	next, described := s.Study, slices.Clone(s.Probes)
	var results []record.Result
	f := File{Path: path, SHA256: hash}
	for i, r := range statements {
		if other, ok := s.recorded[mark(hash, i+1)]; ok {
			if f.Reason = "the same bytes as " + other + ", which is imported already: one measurement cannot count twice"; other == Clean(path) {
				f.Reason = "imported already: one measurement cannot count twice"
			}
			continue
		}
		for _, factor := range at.Factors {
			r.Levels[factor] = cmp.Or(Clean(r.Observed[factor]), "unknown")
			delete(r.Observed, factor)
		}
		name := cmp.Or(at.Probe, r.Kind)
		if next, described, err = extend(next, described, at, name, r); err != nil {
			return nil, err
		}
		res := result(r, at, name)
		res.Trial, res.Block = mark(hash, i+1)+"-"+fileName(at.Network)+"-"+fileName(name), s.blocks+len(results)+1
		if size := s.sizes[cell(res)]; size != 0 && size != record.Datagram.Of(res.Observed) {
			return nil, fmt.Errorf("datagrams of %d bytes, and of %d in another file of this network and probe: if the size is a factor, add --factor %s", record.Datagram.Of(res.Observed), size, record.Datagram.Key())
		}
		record.Source.Put(res.Observed, Clean(path))
		f.Tool = cmp.Or(f.Tool, record.Tool.Of(res.Observed))
		f.Trials = append(f.Trials, res.Trial)
		results = append(results, res)
	}
	if len(results) == 0 {
		return nil, errors.New(f.Reason)
	}
	if err := next.Validate(); err != nil {
		return nil, err
	}
	f.Reason = "" // an earlier import recorded a part and was killed
	for _, r := range results {
		s.recorded[r.Trial[:markSize]] = record.Source.Of(r.Observed)
		s.sizes[cell(r)] = record.Datagram.Of(r.Observed)
	}
	s.Study, s.Probes = next, described
	s.blocks += len(results)
	s.paths[path] = true
	s.Files = append(s.Files, f)
	s.Results = append(s.Results, results...)
	return results, nil
}

// extend adds the network and the probe of a statement to a study. Factors stay in the results: a study would
// list every combination of them.
func extend(s study.Study, described []Described, at Assignment, name string, r probe.Statement) (study.Study, []Described, error) {
	if _, ok := s.Network(at.Network); !ok {
		s.Networks = append(slices.Clip(s.Networks), study.Use{Kind: at.Network, Name: at.Network})
	}
	s.Baseline = cmp.Or(s.Baseline, at.Network)
	use := study.Use{Kind: r.Kind, Name: name}
	switch known, ok := s.Probe(name); {
	case !ok:
		s.Probes = append(slices.Clip(s.Probes), use)
		d := Described{name, r.Info}
		if name != r.Kind {
			d.Title, d.Short = name, name
		}
		described = append(described, d)
	case known.Kind != r.Kind:
		return s, nil, fmt.Errorf("this is a result of %s, and the probe %s is %s in other files; give it another name", r.Kind, name, known.Kind)
	}
	for factor := range at.Levels {
		if r.Levels[factor] != "" {
			return s, nil, fmt.Errorf("the path sets %s, which the output states itself (%s); use another name in --as", factor, r.Levels[factor])
		}
	}
	return s, described, nil
}

func levels(r probe.Statement, at Assignment) map[string]string {
	out := maps.Clone(r.Levels)
	maps.Copy(out, at.Levels)
	return out
}

func result(r probe.Statement, at Assignment, name string) record.Result {
	config := levels(r, at)
	config["network"], config["probe"] = at.Network, name
	observed := record.Observed{}
	for k, v := range r.Observed {
		if v = Clean(v); v != "" {
			observed[k] = v
		}
	}
	res := record.Result{Format: record.Format, Status: record.OK, Start: r.Start, Config: config, Observed: observed, Values: r.Values, Notes: r.Notes}
	if w, ok := res.Get(record.Window); ok {
		res.Elapsed = w.Value
	}
	return res
}

// Matches reports whether a result comes from these bytes.
func Matches(b []byte, r record.Result) bool {
	sum := sha256.Sum256(b)
	return strings.HasPrefix(r.Trial, hex.EncodeToString(sum[:])[:12]+"-")
}

// cell names the cell of a result.
func cell(r record.Result) string { return fmt.Sprintf("%q", r.Config) } // sorted

// New returns the study of an empty set.
func New() study.Study {
	s := study.Default()
	s.Name, s.Question = "imported", "What do these imported results say?"
	s.Blocks = 1
	return s
}

// FileName returns a name for the raw bytes of a file that is safe everywhere.
func FileName(path string) string {
	return cmp.Or(strings.TrimLeft(fileName(path[strings.LastIndexByte(path, '/')+1:]), "."), "output")
}

func fileName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-._+=", r)) {
			return r
		}
		return '_'
	}, s)
	return s[:min(len(s), 100)]
}

// maxShown bounds what an output says about itself, in bytes.
const maxShown = 300

// Clean returns text of a foreign file as one line without control characters.
func Clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxShown {
		s = strings.ToValidUTF8(s[:maxShown], "") + " …"
	}
	return s
}

// Shown returns a path for a terminal: quoted if it holds control characters.
func Shown(path string) string {
	if Clean(path) == path {
		return path
	}
	return strconv.Quote(path)
}

// escapes are the terminal's colors, which sockperf prints even to a file.
var escapes = regexp.MustCompile(`\x1b\[[0-9;]*[A-Za-z]`)

// Text returns the bytes of a file as UTF-8 with lines that end in "\n". Windows PowerShell writes
// UTF-16 with a byte-order mark when it redirects an output.
func Text(b []byte) ([]byte, error) {
	switch {
	case bytes.HasPrefix(b, []byte{0xef, 0xbb, 0xbf}):
		b = b[3:]
	case bytes.HasPrefix(b, []byte{0xff, 0xfe}), bytes.HasPrefix(b, []byte{0xfe, 0xff}):
		if len(b)%2 != 0 {
			return nil, errors.New("UTF-16 with half a character at its end: cut off")
		}
		units := make([]uint16, 0, len(b)/2)
		for i := 2; i < len(b); i += 2 {
			lo, hi := b[i], b[i+1]
			if b[0] == 0xfe {
				lo, hi = hi, lo
			}
			units = append(units, uint16(lo)|uint16(hi)<<8)
		}
		b = []byte(string(utf16.Decode(units)))
	}
	if bytes.IndexByte(b, 0) >= 0 {
		return nil, errors.New("not a text: it has NUL bytes")
	}
	b = bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n"))
	return escapes.ReplaceAll(b, nil), nil
}
