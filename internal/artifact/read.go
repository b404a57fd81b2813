package artifact

import (
	"archive/tar"
	"compress/flate"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/weir-bench/weir/internal/foreign"
)

// A Checked is an archive, or its directory, whose files are those of its list, byte for byte.
type Checked struct {
	Sum   string            // of the list
	Files []string          // sorted, without the list
	Sums  map[string]string // SHA-256 of each of them, in hexadecimal
}

// Check reads an archive to its end. An error names the file that is not as the list says.
func Check(archive string) (Checked, error) {
	return read(archive, func(string) (io.WriteCloser, error) { return nopCloser{io.Discard}, nil })
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// Unpack writes the files of an archive below dir, which must not exist, without the archive's own directory. After an error
// it leaves nothing.
func Unpack(archive, dir string) (c Checked, err error) {
	if err := os.Mkdir(dir, 0o777); err != nil {
		return c, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return c, err
	}
	c, err = read(archive, func(name string) (io.WriteCloser, error) {
		return exclusive(root, name, name == "reproduce" || path.Dir(name) == "bin")
	})
	if err = errors.Join(err, root.Close()); err != nil {
		return c, errors.Join(err, os.RemoveAll(dir))
	}
	return c, nil
}

// read gives each file of an archive a place. The list comes first, so no byte is believed before its file is checked.
func read(archive string, place func(name string) (io.WriteCloser, error)) (c Checked, err error) {
	f, err := foreign.Open(archive, maxBytes)
	if err != nil {
		return c, err
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		return c, fmt.Errorf("%s: not a package: %w", archive, err)
	}
	zip.Multistream(false)
	r := reader{in: tar.NewReader(zip), place: place}
	if err := r.all(); err != nil {
		var corrupt flate.CorruptInputError
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, tar.ErrHeader) || errors.As(err, &corrupt) {
			err = fmt.Errorf("%w: the archive is damaged; get it again", err)
		}
		return c, fmt.Errorf("%s: %w", archive, err)
	}
	// After the last file come padding and gzip's sums.
	if n, err := io.Copy(io.Discard, io.LimitReader(zip, 1<<20)); err != nil || n == 1<<20 {
		return c, fmt.Errorf("%s: bytes behind the last file: %w", archive, errors.Join(err, errors.New("the archive is damaged; get it again")))
	}
	return Checked{sumOf(r.list), slices.Sorted(maps.Keys(r.sums)), r.sums}, nil
}

// A reader reads the files of an archive in their order.
type reader struct {
	in    *tar.Reader
	place func(name string) (io.WriteCloser, error)
	top   string // the directory of all files, with a slash
	last  string // file that was read
	list  []byte
	sums  map[string]string
	done  map[string]bool
	bytes int64
}

func (r *reader) all() error {
	r.done = map[string]bool{}
	for {
		h, err := r.in.Next()
		if err == io.EOF {
			break
		}
		if err != nil && r.top == "" {
			return fmt.Errorf("before the first file: %w", err)
		}
		if err != nil {
			return fmt.Errorf("after %s: %w", r.last, err)
		}
		if err := r.one(h); err != nil {
			return err
		}
	}
	if r.sums == nil {
		return fmt.Errorf("not a package: it has no %s", SumsFile)
	}
	for _, name := range slices.Sorted(maps.Keys(r.sums)) {
		if !r.done[name] {
			return fmt.Errorf("%s is missing", name)
		}
	}
	return nil
}

// one reads a file.
func (r *reader) one(h *tar.Header) error {
	if h.Typeflag != tar.TypeReg {
		return fmt.Errorf("%q is not a regular file (type %q): a package has no other", h.Name, h.Typeflag)
	}
	if r.top == "" {
		top, name, ok := strings.Cut(h.Name, "/")
		if !ok || name != SumsFile || checkName(top) != nil {
			return fmt.Errorf("not a package: its first file is %q, not %s", h.Name, SumsFile)
		}
		r.top = top + "/"
	}
	name, ok := strings.CutPrefix(h.Name, r.top)
	if err := checkName(name); err != nil || !ok {
		return fmt.Errorf("%q leads out of the package", h.Name)
	}
	if r.bytes += h.Size; r.bytes > maxBytes {
		return fmt.Errorf("%s: more than %d bytes", name, int64(maxBytes))
	}
	to, err := r.expected(name, h)
	if err != nil {
		return err
	}
	r.last = name
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(to, sum), r.in)
	if err = errors.Join(err, to.Close()); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if name == SumsFile {
		r.sums, err = parseSums(r.list)
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != r.sums[name] {
		return changed(name)
	}
	return nil
}

// expected returns the place of a file that comes next.
func (r *reader) expected(name string, h *tar.Header) (io.WriteCloser, error) {
	if r.sums == nil {
		if h.Size > maxSums {
			return nil, fmt.Errorf("%s: %d bytes, more than %d", SumsFile, h.Size, maxSums)
		}
		to, err := r.place(name)
		if err != nil {
			return nil, err
		}
		return both{to, r}, nil
	}
	switch {
	case r.sums[name] == "":
		return nil, fmt.Errorf("%s is not in %s", name, SumsFile)
	case r.done[name]:
		return nil, fmt.Errorf("%s occurs twice", name)
	}
	r.done[name] = true
	return r.place(name)
}

// both also keeps the list.
type both struct {
	io.WriteCloser
	r *reader
}

func (b both) Write(p []byte) (int, error) {
	b.r.list = append(b.r.list, p...)
	return b.WriteCloser.Write(p)
}

func changed(name string) error {
	return fmt.Errorf("%s was changed: it differs from its sum in %s", name, SumsFile)
}

// CheckDir checks the directory of an unpacked archive. Files that somebody added inside its directories are errors;
// files next to these are not checked.
func CheckDir(dir string) (c Checked, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return c, err
	}
	defer root.Close()
	list, err := foreign.ReadFrom(root, SumsFile, maxSums)
	if err != nil {
		return c, fmt.Errorf("%s: not a package: %w", dir, err)
	}
	sums, err := parseSums(list)
	if err != nil {
		return c, fmt.Errorf("%s: %w", dir, err)
	}
	c = Checked{sumOf(list), slices.Sorted(maps.Keys(sums)), sums}
	tops := map[string]bool{}
	for _, name := range c.Files {
		if err := checkFile(root, name, sums[name]); err != nil {
			return c, fmt.Errorf("%s: %w", dir, err)
		}
		if top, _, below := strings.Cut(name, "/"); below {
			tops[top] = true
		}
	}
	for top := range tops {
		err := fs.WalkDir(root.FS(), top, func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && sums[name] == "" {
				err = fmt.Errorf("%s: %s is not in %s", dir, name, SumsFile)
			}
			return err
		})
		if err != nil {
			return c, err
		}
	}
	return c, nil
}

func checkFile(root *os.Root, name, want string) error {
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is missing", name)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := foreign.Check(f, maxBytes); err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.LimitReader(f, maxBytes)); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != want {
		return changed(name)
	}
	return nil
}
