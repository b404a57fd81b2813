package image

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/weir-bench/weir/internal/foreign"
)

// maxProgram is the longest program that fits into an image, bytes: six times weir's.
const maxProgram = 256 << 20

// A Program is a statically linked executable for Linux, which needs no other file in its container.
type Program struct {
	Arch string // as Go and image specifications call it
	Body []byte
}

// architectures are those of Linux for which Go builds programs of 64 bits.
var architectures = map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64", elf.EM_LOONGARCH: "loong64",
	elf.EM_PPC64: "ppc64le", elf.EM_RISCV: "riscv64", elf.EM_S390: "s390x"}

// ReadProgram reads the program in a file; "" is this program.
func ReadProgram(file string) (Program, error) {
	shown := file
	if file == "" {
		file, shown = "/proc/self/exe", "weir"
	}
	b, err := foreign.ReadFile(file, maxProgram)
	if err != nil {
		return Program{}, fmt.Errorf("read the program: %w", err)
	}
	arch, err := check(b)
	if err != nil {
		return Program{}, fmt.Errorf("%s cannot run by itself: %w", shown, err)
	}
	return Program{arch, b}, nil
}

// check returns the architecture of a program that can run alone.
func check(program []byte) (arch string, err error) {
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return "", fmt.Errorf("not a program for Linux: %w", err)
	}
	arch, ok := architectures[f.Machine]
	if !ok {
		return "", fmt.Errorf("unknown architecture %v; use a program for amd64 or arm64", f.Machine)
	}
	if slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return "", errors.New("it is dynamically linked, and its libraries would be missing; build it with CGO_ENABLED=0, as make does")
	}
	return arch, nil
}

// RootFS returns a tar(1) archive of the program as /weir, from which `docker import` makes an image.
// Started as `/weir pause`, it waits for SIGTERM.
func (p Program) RootFS() ([]byte, error) {
	return layer([]File{{Name: "weir", Mode: 0o755, Body: p.Body}})
}

// nobody is the user of distroless images: any that is not root and owns nothing.
const nobody = "65532:65532"

// Image returns the image of weir: /weir and no other file. Without arguments it waits for SIGTERM, so
// that the image can also hold a pod's namespaces ("pause").
func (p Program) Image() Image {
	return Image{Arch: p.Arch, Files: []File{{Name: "weir", Mode: 0o755, Body: p.Body}},
		Config: Config{Entrypoint: []string{"/weir"}, Cmd: []string{"pause"}, User: nobody}}
}

// odd matches what a tag cannot have.
var odd = regexp.MustCompile(`[^A-Za-z0-9_.-]`)

// Name returns the name of the image of a version of weir. Its registry does not exist: a runtime that
// has not been given the image fails at once, and fetches nothing of another's.
func Name(version string) string {
	tag := odd.ReplaceAllString(version, "-")
	return "weir.local/weir:" + tag[:min(len(tag), maxTag)]
}

// maxTag is the longest tag (OCI distribution specification, "pulling manifests").
const maxTag = 128
