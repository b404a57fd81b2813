package sock

import (
	"os"
	"unsafe"
)

// Buffer returns n bytes that begin half a page behind the start of a page.
//
// The kernel copies with "rep movsb" on processors that claim to be fast at it (FSRM: copy_user_generic,
// arch/x86/include/asm/uaccess_64.h, Linux 6.4 and later). Those of AMD's Zen 3 and 4 are three times as slow if the
// destination begins 1 to 31 bytes behind the source, apart from a multiple of the page size (glibc bug 30994): a TCP
// stream falls from 48 to 14 Gbit/s (ADR 60). A new thread's data go to the start of a page (sk_page_frag,
// net/core/sock.c), behind the few bytes that it has sent before, and what a connection receives begins there, too.
// Half a page keeps both copies away from the slow distances.
func Buffer(n int) []byte {
	page := os.Getpagesize()
	b := make([]byte, n+2*page)
	from := page/2 + page - int(uintptr(unsafe.Pointer(&b[0])))%page
	return b[from : from+n : from+n]
}
