package explain

import (
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/record"
)

// quantity names a value of a trial in a sentence.
func quantity(metric record.Quantity) lang.Text {
	switch metric {
	case record.CPUOwnPerPacket:
		return lang.T("CPU time per packet")
	case record.CPUOwnPerTransaction:
		return lang.T("CPU time per transaction")
	case record.CPUOwnPerBit:
		return lang.T("CPU time per bit")
	}
	return lang.Quantity(metric)
}
