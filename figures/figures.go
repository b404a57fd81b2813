// Package figures holds the figures and tables of the documents that weir repeats, a file per
// document. A figure is data: this package embeds the files and must not interpret them.
package figures

import "embed"

// FS holds the figures, as <document>.yaml.
//
//go:embed *.yaml
var FS embed.FS
