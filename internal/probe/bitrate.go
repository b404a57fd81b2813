package probe

import (
	"fmt"

	"github.com/weir-bench/weir/internal/unit"
)

// A Bitrate is a rate in bit/s, 0 for as fast as possible. unit.ParseRate defines its text form, "950mbit",
// or it is "unlimited".
type Bitrate float64

// maxBitrate exceeds the rate of any path and is within every tool's range.
const maxBitrate = 1e13

func (r *Bitrate) UnmarshalText(b []byte) error {
	if string(b) == "unlimited" {
		*r = 0
		return nil
	}
	v, err := unit.ParseRate(string(b))
	switch {
	case err != nil:
	case v > maxBitrate:
		err = fmt.Errorf("rate %q: more than %s", b, unit.Format(maxBitrate, "bit/s"))
	case v < 1: // 0 would be as fast as possible
		err = fmt.Errorf("rate %q: less than 1 bit/s; as fast as possible is \"unlimited\"", b)
	}
	if err != nil {
		return err
	}
	*r = Bitrate(v)
	return nil
}
