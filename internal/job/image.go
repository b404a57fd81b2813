package job

import (
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/image"
	"github.com/weir-bench/weir/internal/store"
)

// ImageMade is an image in a file.
type ImageMade struct {
	Platforms []string // "linux/amd64"
	Size      int      // bytes
}

// WriteImage writes the image called name to a file. It holds this program and those in files, by architecture; those
// in files take precedence.
func WriteImage(file, name string, files map[string]string) (made ImageMade, err error) {
	if err := replaceable(file); err != nil {
		return made, err
	}
	var images []image.Image
	for _, arch := range slices.Sorted(maps.Keys(files)) {
		p, err := image.ReadProgram(files[arch])
		if err != nil {
			return made, failure.Environment.Of(err)
		}
		if p.Arch != arch {
			return made, failure.Usage.Errorf("--program %s=%s: the program is for %s; write %s=%s", arch, files[arch], p.Arch, p.Arch, files[arch])
		}
		images = append(images, p.Image())
	}
	self, err := image.ReadProgram("")
	if err != nil {
		return made, failure.Environment.Of(err)
	}
	if files[self.Arch] == "" {
		images = append(images, self.Image())
	}
	slices.SortFunc(images, func(a, b image.Image) int { return strings.Compare(a.Arch, b.Arch) })
	b, err := image.Archive(name, images...)
	if err != nil {
		return made, err
	}
	if err := store.WriteFile(file, b); err != nil {
		return made, failure.Environment.Errorf("write the image: %w", err)
	}
	for _, i := range images {
		made.Platforms = append(made.Platforms, "linux/"+i.Arch)
	}
	made.Size = len(b)
	return made, nil
}

// replaceable returns an error if file exists and is not a regular file: weir would replace a device, a pipe or a link.
func replaceable(file string) error {
	if info, err := os.Lstat(file); err == nil && !info.Mode().IsRegular() {
		return failure.Usage.Errorf("%s is not a regular file; name a file to write", file)
	}
	return nil
}

// WriteRootFS writes the root file system of containers with this program to a file.
func WriteRootFS(file string) error {
	p, err := image.ReadProgram("")
	if err != nil {
		return err
	}
	b, err := p.RootFS()
	if err != nil {
		return err
	}
	return os.WriteFile(file, b, 0o666)
}
