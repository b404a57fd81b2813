package main

import (
	"bytes"
	"io/fs"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/weir-bench/weir/schema"
)

// valid SCHEMA FILE fails unless the JSON in FILE, or each line of it if its name ends in .jsonl, is valid
// against a published schema. FILE can be stdout.
func valid(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: valid SCHEMA FILE")
	}
	b, err := fs.ReadFile(schema.FS, args[0]+".json")
	ts.Check(err)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	ts.Check(err)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	const url = "https://example.org/schema.json"
	ts.Check(c.AddResource(url, doc))
	s, err := c.Compile(url)
	ts.Check(err)
	docs := []string{ts.ReadFile(args[1])}
	if strings.HasSuffix(args[1], ".jsonl") {
		docs = strings.Split(strings.TrimSuffix(docs[0], "\n"), "\n")
	}
	for _, d := range docs {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(d))
		ts.Check(err)
		ts.Check(s.Validate(v))
	}
}
