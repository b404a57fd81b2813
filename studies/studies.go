// Package studies holds the studies that weir ships, one question each. A study
// is data: this package embeds the files and must not interpret them.
package studies

import "embed"

// FS holds the studies, as <name>.yaml.
//
//go:embed *.yaml
var FS embed.FS
