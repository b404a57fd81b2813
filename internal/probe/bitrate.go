package probe

import (
	"fmt"

	"github.com/weir-bench/weir/internal/unit"
)

// A Bitrate is in bit/s, written as unit.ParseRate reads it: "950mbit".
type Bitrate float64

// maxBitrate is far above any path, and within what the tools can read.
const maxBitrate = 1e13

// UnmarshalText reads a rate.
func (r *Bitrate) UnmarshalText(b []byte) error {
	v, err := unit.ParseRate(string(b))
	if err == nil && v > maxBitrate {
		err = fmt.Errorf("rate %q: more than %s", b, unit.Format(maxBitrate, "bit/s"))
	}
	if err != nil {
		return err
	}
	*r = Bitrate(v)
	return nil
}
