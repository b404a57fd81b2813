package study

import (
	"fmt"
	"maps"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/strictyaml"
)

// sizesKey is the option of probes with a distribution of sizes.
const sizesKey = "sizes"

// MaxSizes is the most that a file of sizes holds, bytes.
const MaxSizes = 64 << 10

// ReadSizes puts what files hold into the option sizes of probes in place of their names, so that the study can be repeated without them.
func (s *Study) ReadSizes(read func(name string) ([]byte, error)) error {
	for i, u := range s.Probes {
		n, err := strictyaml.ParseFlow(u.Options[sizesKey])
		if err != nil || n == nil || n.Kind != strictyaml.Text || n.Text == "" {
			continue
		}
		if _, err := event.ParseSizes(n.Text); err == nil {
			continue
		}
		b, err := read(n.Text)
		if err != nil {
			return fmt.Errorf("probe %s: sizes: %w; name a file with a line per size, bytes and their weight, or write them between commas", u.Name, err)
		}
		sizes, err := event.ParseSizes(string(b))
		if err != nil {
			return fmt.Errorf("probe %s: sizes: %s: %w", u.Name, n.Text, err)
		}
		s.Probes[i].Options = maps.Clone(u.Options)
		s.Probes[i].Options[sizesKey] = strictyaml.NewText(sizes.String()).Flow()
	}
	return nil
}
