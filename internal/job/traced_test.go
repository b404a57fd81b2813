package job

import (
	"fmt"
	"testing"
	"testing/fstest"
)

// Docker mounts the namespace of a network; other mounts do not count.
func TestMounted(t *testing.T) {
	root := fstest.MapFS{"proc/1/mountinfo": {Data: []byte(`22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
31 22 0:4 net:[4026532301] /run/docker/netns/1-abc rw shared:9 - nsfs nsfs rw
32 22 0:4 mnt:[4026532400] /run/ns/mnt rw - nsfs nsfs rw
33
`)}}
	if got := fmt.Sprint(mounted(root, "proc/1/mountinfo"), len(mounted(root, "proc/2/mountinfo"))); got != "map[4026532301:1-abc] 0" {
		t.Error(got)
	}
}
