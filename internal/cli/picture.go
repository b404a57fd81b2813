package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/weir-bench/weir/internal/figure"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/picture"
	"github.com/weir-bench/weir/internal/report/doc"
)

// inEnglish says once that the font of PNG and PDF has no Chinese characters.
var inEnglish sync.Once

// writePicture writes an SVG in one of the formats to a file, or to stdout if that is "-".
func writePicture(file, format, svg, title string) (err error) {
	var b bytes.Buffer
	switch format {
	case "png":
		err = picture.PNG(&b, svg)
	case "pdf":
		err = picture.PDF(&b, svg, title)
	default:
		b.WriteString(svg)
	}
	if err != nil {
		return err
	}
	if format != "svg" && language != nil {
		inEnglish.Do(func() {
			note(lang.T("the text of PNG and PDF pictures is English, as their font has no Chinese characters; SVG has Chinese"))
		})
	}
	if missing, err := picture.Missing(svg); err == nil && missing != "" && format != "svg" {
		warn(lang.T("%s: the font of %s lacks %s; --format svg uses the fonts of its reader", file, strings.ToUpper(format), missing))
	}
	if err := writeTo(file, func(w io.Writer) error { _, err := b.WriteTo(w); return err }); err != nil {
		return exit(exitEnvironment, err)
	}
	return nil
}

// drawPicture draws a figure of the report of some directories, or of a document with their results.
func drawPicture(dirs []string, keep bool, id, format, file string) error {
	format, err := pictureFormat(format, file)
	if err != nil {
		return err
	}
	svg, title, err := figureOf(dirs, keep, id, format)
	if err != nil {
		return err
	}
	if file == "" {
		file = id + "." + format
	}
	if err := writePicture(file, format, svg, title); err != nil {
		return err
	}
	if file != "-" {
		fmt.Println(said(lang.T("picture: %s", file)))
	}
	return nil
}

// pictureLanguage is the language of a picture's text. The font of PNG and PDF has no Chinese characters.
func pictureLanguage(format string) *lang.Language {
	if format == "svg" {
		return language
	}
	return nil
}

func figureOf(dirs []string, keep bool, id, format string) (svg, title string, err error) {
	shipped, err := figure.Shipped()
	if err != nil {
		return "", "", err
	}
	if i := slices.Index(figureIDs(shipped), id); i >= 0 {
		from := newResults(dirs, keep)
		r, err := from.figure(shipped[i])
		if err != nil {
			return "", "", err
		}
		if r.Size() == 0 {
			return "", "", exit(exitEnvironment, fmt.Errorf("nothing was measured: %s; weir figure %s measures it", from.nothing(shipped[i:i+1]), id))
		}
		svg, err = r.SVG(figure.Look{}, pictureLanguage(format))
		return svg, r.Caption, err
	}
	page, err := document(dirs, keep)
	if err != nil {
		return "", "", err
	}
	page.Lang = pictureLanguage(format)
	all := page.Figures()
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
		return "", "", usage("unknown figure %q;%s --figure list shows all", id, near)
	}
	svg, err = page.Picture(all[i]).SVG()
	return svg, all[i].Caption, err
}

// listPictures lists the figures that directories have: those of their report, and those of documents.
func listPictures(dirs []string, keep bool) error {
	shipped, err := figure.Shipped()
	if err != nil {
		return err
	}
	rows := [][]lang.Text{{lang.T("figure"), lang.T("caption")}}
	from := newResults(dirs, keep)
	for _, f := range shipped {
		if f.Measured() && slices.ContainsFunc(from.of(f.Study.Name), func(one storedRun) bool { return covers(one.study, []figure.Figure{f}) }) {
			rows = append(rows, []lang.Text{lang.Text(f.ID), lang.Stored(f.Caption) + lang.T(" (%s, %s)", f.Document, lang.Stored(f.Place))})
		}
	}
	page, err := document(dirs, keep)
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
