package sock

import (
	"os"
	"testing"
	"unsafe"
)

func TestBuffer(t *testing.T) {
	for _, n := range []int{1, 18, 1400, 4096, 128 << 10, 1<<20 + 1} {
		b := Buffer(n)
		if at := int(uintptr(unsafe.Pointer(&b[0]))) % os.Getpagesize(); len(b) != n || cap(b) != n || at != os.Getpagesize()/2 {
			t.Errorf("%d bytes: %d of %d, at byte %d of a page", n, len(b), cap(b), at)
		}
	}
}
