package profile

import (
	"encoding/binary"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// sampled is a record of a sample as the kernel writes it.
func sampled(pid uint32, calls ...uint64) []byte {
	var b []byte
	b = binary.NativeEndian.AppendUint32(b, unix.PERF_RECORD_SAMPLE)
	b = binary.NativeEndian.AppendUint16(b, 1) // kernel
	b = binary.NativeEndian.AppendUint16(b, uint16(headerSize+fixedSize+8*len(calls)))
	b = binary.NativeEndian.AppendUint32(b, pid)
	b = binary.NativeEndian.AppendUint32(b, pid+1)
	b = binary.NativeEndian.AppendUint64(b, 1000*uint64(pid))
	b = binary.NativeEndian.AppendUint64(b, uint64(len(calls)))
	for _, ip := range calls {
		b = binary.NativeEndian.AppendUint64(b, ip)
	}
	return b
}

const inKernel = ^uint64(127) // PERF_CONTEXT_KERNEL

func TestSamples(t *testing.T) {
	b := slices.Concat(sampled(7, inKernel, 0xffffffff81000010, 0xffffffff81000020), empty(unix.PERF_RECORD_LOST), sampled(0), sampled(9, inKernel, 0xffffffff81000030))
	got, err := samples(b)
	if err != nil {
		t.Fatal(err)
	}
	want := []sample{{7, 8, 7000, []uint64{0xffffffff81000010, 0xffffffff81000020}}, {0, 1, 0, nil}, {9, 10, 9000, []uint64{0xffffffff81000030}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("samples %v, want %v", got, want)
	}
}

// empty is a record of a header alone.
func empty(kind uint32) []byte {
	b := binary.NativeEndian.AppendUint32(nil, kind)
	return binary.NativeEndian.AppendUint16(binary.NativeEndian.AppendUint16(b, 0), headerSize)
}

// Samples that the kernel held back are missing from the sums.
func TestThrottled(t *testing.T) {
	if _, err := samples(slices.Concat(sampled(7), empty(unix.PERF_RECORD_THROTTLE), sampled(7))); !errors.Is(err, errThrottled) {
		t.Errorf("error %v, want %v", err, errThrottled)
	}
}

func TestBadSamples(t *testing.T) {
	good := sampled(7, inKernel, 1, 2)
	long := slices.Clone(good)
	binary.NativeEndian.PutUint64(long[headerSize+16:], 4)
	none := slices.Clone(good)
	binary.NativeEndian.PutUint16(none[6:], 0)
	short := slices.Clone(good[:headerSize])
	binary.NativeEndian.PutUint16(short[6:], headerSize)
	for name, b := range map[string][]byte{
		"a header has": good[:4], "its size is 0": none, "are left": good[:len(good)-1], "4 calls": long, "want at least": short,
	} {
		if _, err := samples(b); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func FuzzSamples(f *testing.F) {
	f.Add(slices.Concat(sampled(7, inKernel, 1, 2), sampled(0)))
	f.Add(sampled(7)[:12])
	f.Fuzz(func(t *testing.T, b []byte) {
		all, _ := samples(b)
		n := 0
		for _, s := range all {
			n += 4 + len(s.calls)
		}
		if 8*n > len(b) {
			t.Errorf("%d words in %d bytes", n, len(b))
		}
	})
}
