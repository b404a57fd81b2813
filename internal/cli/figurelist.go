package cli

import (
	"os"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/figure"
	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/lang"
)

func figureIDs(fs []figure.Figure) (ids []string) {
	for _, f := range fs {
		ids = append(ids, f.ID)
	}
	return ids
}

func chooseFigures(shipped []figure.Figure, names []string) (chosen []figure.Figure, _ error) {
	for _, name := range names {
		i := slices.IndexFunc(shipped, func(f figure.Figure) bool { return f.ID == name })
		if i < 0 {
			near := ""
			if ids := nearIDs(figureIDs(shipped), name); ids != nil {
				near = " near it: " + strings.Join(ids, ", ") + ";"
			}
			return nil, usage("unknown figure %q;%s weir figure lists all %d", name, near, len(shipped))
		}
		chosen = append(chosen, shipped[i])
	}
	return chosen, nil
}

// nearIDs returns the ids that share the longest beginning with name, or one of its words; nil if there
// are none.
func nearIDs(ids []string, name string) []string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '-' || r == '.' || r == ' ' })
	for n := len(name); n > 2; n-- {
		var near []string
		for _, id := range ids {
			if strings.HasPrefix(id, strings.ToLower(name[:n])) || n == len(name) && slices.ContainsFunc(words[min(1, len(words)):], func(w string) bool { return len(w) > 2 && strings.Contains(id, w) }) {
				near = append(near, id)
			}
		}
		if near != nil {
			return near
		}
	}
	return nil
}

type listedFigure struct {
	figure.Figure
	Study string `json:"study,omitempty"` // absent if nothing is measured
}

func listFigures(shipped []figure.Figure, asJSON bool) error {
	if asJSON {
		var lines []listedFigure
		for _, f := range shipped {
			lines = append(lines, listedFigure{f, f.Study.Name})
		}
		return printJSON(os.Stdout, lines)
	}
	rows := [][]lang.Text{{lang.T("figure"), lang.T("place"), lang.T("study"), lang.T("fast"), lang.T("caption")}}
	for _, f := range shipped {
		name, takes := "–", lang.Text("–")
		if f.Measured() {
			name, takes = f.Study.Name, job.About(catalog.Estimate(catalog.Available(figure.Needed([]figure.Figure{f})).Faster()))
		}
		rows = append(rows, []lang.Text{lang.Text(f.ID), lang.Stored(f.Place), lang.Text(name), takes, lang.Stored(f.Caption)})
	}
	return printColumns(os.Stdout, rows)
}
