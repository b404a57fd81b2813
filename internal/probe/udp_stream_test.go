package probe

import (
	"strings"
	"testing"
)

// An error of an option that the path does not change does not speak of the path.
func TestPacketsAndOthers(t *testing.T) {
	for want, p := range map[string]UDPStream{
		"streams: 129 is outside":   {Packets: 2, Streams: 129},
		"sndbuf: -1 is outside":     {Packets: 2, Buffers: Buffers{SndBuf: -1}},
		"packets: 200, on a path w": {Packets: 200},
	} {
		if err := p.Check(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", p, err, want)
		}
	}
}
