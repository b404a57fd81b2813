// Package weir has the text of weir's license, which whoever passes the program on passes on with it.
//
// It must not have anything else: programs are below cmd, and what they do is below internal.
package weir

import _ "embed"

//go:embed LICENSE
var License []byte
