// Package schema holds the JSON Schemas of what weir writes, as <name>.json: a test of package cli generates
// them from the types and validates every recorded run against them. A schema is data: this package embeds the
// files and must not interpret them.
package schema

import "embed"

// FS holds the schemas, as <name>.json.
//
//go:embed *.json
var FS embed.FS
