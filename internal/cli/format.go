package cli

import (
	"path/filepath"
	"slices"
	"strings"
)

// documentFormat returns the format of a document: the one that was stated, or that of its file's name. A name without an
// end, such as /dev/stdout, stands for the default.
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

// pictures are the formats of a figure, and the ends of their files' names.
var pictures = []string{"svg", "png", "pdf"}

// pictureFormat returns the stated format, or that of a file's name, or svg.
func pictureFormat(stated, file string) (string, error) {
	end := strings.TrimPrefix(filepath.Ext(file), ".")
	switch {
	case stated != "" && !slices.Contains(pictures, stated):
		return "", usage("unknown format %q of a figure: want %s", stated, strings.Join(pictures, ", "))
	case stated != "" && slices.Contains(pictures, end) && end != stated:
		return "", usage("--format %s does not fit -o %s", stated, file)
	case stated != "":
		return stated, nil
	case slices.Contains(pictures, end):
		return end, nil
	}
	return "svg", nil
}
