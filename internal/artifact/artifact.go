// Package artifact writes and reads archives that name their own bytes: gzip-compressed tar files of one directory, whose first
// file, SHA256SUMS, lists all others as sha256sum(1) does. Equal files make equal archives: names are sorted, and neither users
// nor clocks leave a trace. What comes in can be anybody's: it is bounded, stays below its directory, and is only files.
//
// It must not know what the files mean.
package artifact

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/foreign"
)

// SumsFile lists the SHA-256 of every other file.
const SumsFile = "SHA256SUMS"

// Bounds of an archive: its files, the bytes of their names and of the largest one, and of all together.
const (
	maxFiles = 1_000_000
	maxName  = 1024
	maxSums  = 256 << 20
	maxBytes = 64 << 30
)

// A File is a file of an archive: the bytes of another file, or its own.
type File struct {
	Name string // slash-separated, below the archive's directory
	From string // a file; "": Body
	Body []byte
	Exec bool
}

// opened returns the bytes of f, and their number.
func (f File) opened() (io.ReadCloser, int64, error) {
	if f.From == "" {
		return io.NopCloser(bytes.NewReader(f.Body)), int64(len(f.Body)), nil
	}
	file, err := foreign.Open(f.From, maxBytes)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, 0, err
	}
	return file, info.Size(), nil
}

// Write writes an archive of the directory name, whose files have the time at, and returns the SHA-256 of its list, which
// identifies the content. A file that changes meanwhile is an error.
func Write(w io.Writer, name string, at time.Time, files []File) (sum string, err error) {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	var list bytes.Buffer
	for i, f := range files {
		if err := checkName(f.Name); err != nil {
			return "", err
		}
		if f.Name == SumsFile || i > 0 && files[i-1].Name == f.Name {
			return "", fmt.Errorf("two files are called %s", f.Name)
		}
		sum, err := hash(f)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&list, "%s  %s\n", sum, f.Name)
	}
	zip, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	out := tar.NewWriter(zip)
	sums := File{Name: SumsFile, Body: list.Bytes()}
	for _, f := range append([]File{sums}, files...) {
		if err := add(out, name, at, f); err != nil {
			return "", err
		}
	}
	if err := out.Close(); err != nil {
		return "", err
	}
	total := sha256.Sum256(list.Bytes())
	return hex.EncodeToString(total[:]), zip.Close()
}

func hash(f File) (string, error) {
	r, _, err := f.opened()
	if err != nil {
		return "", err
	}
	defer r.Close()
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func add(out *tar.Writer, dir string, at time.Time, f File) error {
	r, size, err := f.opened()
	if err != nil {
		return err
	}
	defer r.Close()
	h := tar.Header{Typeflag: tar.TypeReg, Name: path.Join(dir, f.Name), Size: size, Mode: 0o644, ModTime: at.UTC().Truncate(time.Second)}
	if f.Exec {
		h.Mode = 0o755
	}
	if err := out.WriteHeader(&h); err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	if _, err := io.Copy(out, r); err != nil {
		return fmt.Errorf("%s: it changes while it is packaged: %w", f.Name, err)
	}
	return nil
}

// checkName accepts names that lead below a directory, on every system and in every listing.
func checkName(name string) error {
	if len(name) > maxName || name == "" || path.Clean("/"+name) != "/"+name || strings.Contains(name, `\`) || !foreign.Printable(name) {
		return fmt.Errorf("%q is not the name of a file in a package: want at most %d printable bytes without .. and \\", name[:min(len(name), 80)], maxName)
	}
	return nil
}

// parseSums returns the sums of a list by name.
func parseSums(b []byte) (map[string]string, error) {
	sums := map[string]string{}
	for line := range strings.Lines(string(b)) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if _, err := hex.DecodeString(sum); !ok || err != nil || len(sum) != 2*sha256.Size {
			return nil, fmt.Errorf("%s: line %d is not as sha256sum(1) writes it", SumsFile, len(sums)+1)
		}
		if err := checkName(name); err != nil {
			return nil, fmt.Errorf("%s: %w", SumsFile, err)
		}
		if sums[name] != "" || name == SumsFile {
			return nil, fmt.Errorf("%s: %s occurs twice", SumsFile, name)
		}
		if sums[name] = sum; len(sums) > maxFiles {
			return nil, fmt.Errorf("%s: more than %d files", SumsFile, maxFiles)
		}
	}
	if len(sums) == 0 {
		return nil, fmt.Errorf("%s: no file", SumsFile)
	}
	return sums, nil
}

// sumOf identifies the content of an unpacked archive: the SHA-256 of its list.
func sumOf(list []byte) string {
	sum := sha256.Sum256(list)
	return hex.EncodeToString(sum[:])
}

// exclusive creates a file below root that did not exist.
func exclusive(root *os.Root, name string, exec bool) (*os.File, error) {
	mode := os.FileMode(0o666)
	if exec {
		mode = 0o777
	}
	if dir := path.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o777); err != nil {
			return nil, err
		}
	}
	return root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
}
