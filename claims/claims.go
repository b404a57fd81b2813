// Package claims holds the published figures that weir tests, a file per source.
// A claim is data: this package embeds the files and must not interpret them.
package claims

import "embed"

// FS holds the claims, as <source>.yaml.
//
//go:embed *.yaml
var FS embed.FS
