package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/figure"
	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/report/doc"
)

// writePicture writes an SVG to a file, or to stdout if that is "-".
func writePicture(file, svg string) error {
	return failure.Environment.Of(writeTo(file, func(w io.Writer) error { _, err := io.WriteString(w, svg); return err }))
}

// drawPicture draws a figure of the report of some directories, or of a document with their results.
func drawPicture(dirs []string, keep bool, id, format, file string) error {
	if err := pictureFormat(format, file); err != nil {
		return err
	}
	svg, err := figureOf(dirs, keep, id)
	if err != nil {
		return err
	}
	if file == "" {
		file = id + ".svg"
	}
	if err := writePicture(file, svg); err != nil {
		return err
	}
	if file != "-" {
		fmt.Println(said(lang.T("picture: %s", file)))
	}
	return nil
}

func figureOf(dirs []string, keep bool, id string) (svg string, err error) {
	shipped, err := figure.Shipped()
	if err != nil {
		return "", err
	}
	if i := slices.Index(figureIDs(shipped), id); i >= 0 {
		from := job.NewResults(dirs, keep, tell)
		r, err := from.Figure(shipped[i])
		if err != nil {
			return "", err
		}
		if r.Size() == 0 {
			return "", failure.Environment.Errorf("nothing was measured: %s; weir figure %s measures it", from.Nothing(shipped[i:i+1]), id)
		}
		return r.SVG(figure.Look{}, language)
	}
	page, err := job.Document(dirs, keep)
	if err != nil {
		return "", err
	}
	all := spoken(page).Figures()
	i := slices.IndexFunc(all, func(f doc.Figure) bool { return f.ID == id })
	if i < 0 {
		near := ""
		var ids []string
		for _, f := range all {
			ids = append(ids, f.ID)
		}
		if ids = nearIDs(append(ids, figureIDs(shipped)...), id); ids != nil {
			near = " near it: " + strings.Join(ids, ", ") + ";"
		}
		return "", usage("unknown figure %q;%s --figure list shows all", id, near)
	}
	return page.Picture(all[i]).SVG()
}

// listPictures lists the figures that directories have: those of their report, and those of documents.
func listPictures(dirs []string, keep bool) error {
	shipped, err := figure.Shipped()
	if err != nil {
		return err
	}
	rows := [][]lang.Text{{lang.T("figure"), lang.T("caption")}}
	from := job.NewResults(dirs, keep, tell)
	for _, f := range shipped {
		if f.Measured() && from.Covers(f) {
			rows = append(rows, []lang.Text{lang.Text(f.ID), lang.Stored(f.Caption) + lang.T(" (%s, %s)", f.Document, lang.Stored(f.Place))})
		}
	}
	page, err := job.Document(dirs, keep)
	if err != nil && len(rows) == 1 { // a directory of many studies has no report of its own
		return err
	}
	if err == nil {
		for _, f := range spoken(page).Figures() {
			rows = append(rows, []lang.Text{lang.Text(f.ID), lang.Text(f.Caption)})
		}
	}
	return printColumns(os.Stdout, rows)
}
