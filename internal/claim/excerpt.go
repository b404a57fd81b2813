package claim

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/weir-bench/weir/claims"
	"github.com/weir-bench/weir/internal/strictyaml"
)

// Excerpts returns, by file name, the shipped sources of the claims with these IDs, without their other claims: whoever reads
// one with Load has the claims as this weir has them, whatever a later weir ships.
func Excerpts(ids []string) (map[string][]byte, error) {
	files, _ := fs.Glob(claims.FS, "*.yaml") // the pattern is a constant
	out := map[string][]byte{}
	for _, file := range files {
		src, err := fs.ReadFile(claims.FS, file)
		if err != nil {
			return nil, err
		}
		if text, err := excerpt(src, ids); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		} else if text != "" {
			out[file] = []byte(text)
		}
	}
	return out, nil
}

// excerpt returns a source with only the chosen claims, and those of its studies that they name; "" without a claim.
func excerpt(src []byte, ids []string) (string, error) {
	root, bad := strictyaml.Parse(src)
	if bad != nil {
		return "", bad
	}
	var head, studies, chosen strings.Builder
	named := map[string]bool{}
	for _, c := range root.Get("claims").Items {
		if !slices.Contains(ids, c.Get("id").Text) {
			continue
		}
		named[c.Get("study").Text] = true
		for i, e := range c.Keys {
			fmt.Fprintf(&chosen, "%c %s: %s\n", "- "[min(i, 1)], e.Key, e.Value.Flow())
		}
	}
	for _, e := range root.Keys {
		switch e.Key {
		case "claims":
		case "studies":
			for _, s := range e.Value.Keys {
				if named[s.Key] {
					fmt.Fprintf(&studies, "  %s: %s\n", s.Key, s.Value.Flow())
				}
			}
		default:
			fmt.Fprintf(&head, "%s: %s\n", e.Key, e.Value.Flow())
		}
	}
	if chosen.Len() == 0 {
		return "", nil
	}
	if studies.Len() > 0 {
		head.WriteString("studies:\n" + studies.String())
	}
	return head.String() + "claims:\n" + chosen.String(), nil
}
