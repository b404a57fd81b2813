package sample

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// netDevColumns names the columns to keep, of the 16 that dev_seq_printf_stats prints
// (net/core/net-procfs.c). rx_dropped includes missed frames.
var netDevColumns = map[int]string{
	0: "rx_bytes", 1: "rx_packets", 2: "rx_errors", 3: "rx_dropped", 4: "rx_fifo",
	8: "tx_bytes", 9: "tx_packets", 10: "tx_errors", 11: "tx_dropped", 12: "tx_fifo",
}

const (
	netDevHeader = 2  // lines
	netDevWidth  = 16 // columns
)

// parseNetDev reads the counters of every network device from /proc/net/dev: dev.eth0.rx_bytes,
// rx_packets, rx_errors, rx_dropped, rx_fifo (errors of queues of the device), and tx_ likewise.
func parseNetDev(b []byte) (Counters, error) {
	ls := lines(b)
	if len(ls) < netDevHeader || !strings.Contains(ls[0], "Receive") {
		return nil, fmt.Errorf("no header of %d lines", netDevHeader)
	}
	c := Counters{}
	for i, line := range ls[netDevHeader:] {
		// A device name has no colon (dev_valid_name, net/core/dev.c); no space follows it.
		dev, rest, ok := strings.Cut(line, ":")
		if dev = strings.TrimSpace(dev); !ok || dev == "" {
			return nil, fmt.Errorf("line %d: no device in %.40q", i+1+netDevHeader, line)
		}
		f := strings.Fields(rest)
		if len(f) != netDevWidth {
			return nil, fmt.Errorf("line %d: %s has %d columns: want %d", i+1+netDevHeader, dev, len(f), netDevWidth)
		}
		for j, name := range netDevColumns {
			n, err := counter(f[j])
			if err != nil {
				return nil, fmt.Errorf("line %d: %s: %s: %w", i+1+netDevHeader, dev, name, err)
			}
			c["dev."+dev+"."+name] = n
		}
	}
	return c, nil
}

// A NetDevFile is an open /proc/net/dev. Opening one in a network namespace takes a thread, reading it again
// does not.
type NetDevFile struct {
	file fs.File
	buf  []byte
}

// OpenNetDev opens the file below root, which must show a live /proc, not a copy. The caller closes it.
func OpenNetDev(root fs.FS) (*NetDevFile, error) {
	f, err := root.Open("proc/net/dev")
	if err != nil {
		return nil, err
	}
	if _, ok := f.(io.ReaderAt); !ok {
		return nil, errors.Join(errors.New("proc/net/dev: cannot be read again"), f.Close())
	}
	return &NetDevFile{f, make([]byte, 64<<10)}, nil
}

// Read samples OfNetDev again.
func (n *NetDevFile) Read() (Counters, error) {
	size, err := n.file.(io.ReaderAt).ReadAt(n.buf, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return parseNetDev(n.buf[:size])
}

func (n *NetDevFile) Close() error { return n.file.Close() }
