package cli

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
)

// documentFormat returns the format of a document: the stated one, or that of its file name's extension. A name without
// an extension, such as /dev/stdout, stands for the default.
func documentFormat(format string, stated bool, file string, names []string) (string, error) {
	end := strings.TrimPrefix(filepath.Ext(file), ".")
	switch {
	case !slices.Contains(names, format):
		return "", usage("unknown format %q: want %s", format, strings.Join(names, ", "))
	case stated || file == "-" || end == "":
		return format, nil
	case end == "txt":
		return "text", nil
	case slices.Contains(names, end):
		return end, nil
	case slices.Contains(pictures, end):
		return "", usage("-o %s: a picture needs --figure: weir report DIR --figure list shows the names", file)
	}
	return "", usage("-o %s: no format is named %q; --format states one of %s", file, end, strings.Join(names, ", "))
}

// pictures are the extensions of picture files. weir draws SVG; other programs make the rest from it.
var pictures = []string{"svg", "png", "pdf"}

// pictureFormat returns an error unless the stated format of a picture, or the extension of its file, is SVG.
func pictureFormat(stated, file string) error {
	end := strings.TrimPrefix(filepath.Ext(file), ".")
	format, name := cmp.Or(stated, end), "FIGURE"
	switch {
	case stated != "" && !slices.Contains(pictures, stated):
		return usage("unknown format %q of a figure: want svg", stated)
	case stated != "" && slices.Contains(pictures, end) && end != stated:
		return usage("--format %s does not fit -o %s", stated, file)
	case format == "svg" || !slices.Contains(pictures, format):
		return nil
	case end == format:
		name = strings.TrimSuffix(file, "."+end)
	}
	return usage("pictures are SVG: write %[1]s.svg, and convert it: rsvg-convert -f %[2]s -o %[1]s.%[2]s %[1]s.svg", name, format)
}
