package cli

import (
	"io"

	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/lang"
)

// measured returns the networks of the run in dir, under the names of its study, with what it measured.
func measured(networks []job.Item, dir string) ([]job.Item, error) {
	run, err := job.Load(dir, false)
	if err != nil {
		return nil, err
	}
	return job.Measured(networks, run)
}

// printProperties prints one line per network. All of them have the same tables, or none has any.
func printProperties(w io.Writer, networks []job.Item) error {
	head := []lang.Text{lang.T("network"), lang.T("model"), lang.T("addresses"), lang.T("isolation"), lang.T("service discovery"), lang.T("external access")}
	for _, p := range networks[0].Performance {
		head = append(head, lang.Text(p.Title()))
	}
	rows := [][]lang.Text{head}
	for _, i := range networks {
		p := i.Properties
		cells := []lang.Text{lang.Text(i.Name)}
		for _, s := range []string{string(p.Model), p.Addresses, p.Isolation, p.Discovery, p.External} {
			cells = append(cells, lang.Stored(s))
		}
		for _, p := range i.Performance {
			cells = append(cells, lang.Stored(p.String()))
		}
		rows = append(rows, cells)
	}
	return printColumns(w, rows)
}
