package probe

import (
	"fmt"

	"github.com/weir-bench/weir/internal/unit"
)

// A Bitrate is a rate in bit/s; unit.ParseRate defines its text form: "950mbit".
type Bitrate float64

// maxBitrate exceeds the rate of any path and is within every tool's range.
const maxBitrate = 1e13

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
