package study

import (
	"path/filepath"

	"github.com/weir-bench/weir/internal/strictyaml"
)

// ProgramsKey is the option of every network that weir builds: the directory whose programs its places prefer.
const ProgramsKey = "programs"

// Programs returns the option programs: an absolute path, "" without one.
func (u Use) Programs() (string, error) {
	dir, has := u.Options[ProgramsKey]
	if !has {
		return "", nil
	}
	n, err := strictyaml.ParseFlow(dir)
	if err == nil && n.Kind == strictyaml.Text && filepath.IsAbs(n.Text) {
		return n.Text, nil
	}
	d := strictyaml.Decoder{File: u.file}
	d.Fail(u.lines[ProgramsKey], "%s: invalid %s %q: want the absolute path of a directory with programs", u.Kind, ProgramsKey, dir)
	return "", d.Err()
}
