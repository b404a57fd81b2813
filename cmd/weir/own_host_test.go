package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
)

// ownHost is a command that runs another one, a program with its arguments, as on a machine of its own: root's, with empty
// state directories, and with links, addresses, routes, rules and queueing disciplines. $TALLY is a directory that both have.
// Its process 1 reaps what loses its parent.
var ownHost = []string{"unshare", "--net", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child", "--mount-proc", "sh", "-ec", `
mount --make-rprivate /
mount -t tmpfs tmpfs /mnt
mkdir /mnt/tmp /mnt/tally
touch /mnt/weir.test
mount --bind "$1" /mnt/weir.test
mount --bind "$TALLY" /mnt/tally
for dir in /run /tmp /dev/shm /var/lib /var/log /var/tmp; do mount -t tmpfs tmpfs $dir; done
mkdir -p "$TALLY"
mount --bind /mnt/tally "$TALLY"
ip link set lo up
ip link add d0 type veth peer name d1
ip link set d0 address 02:00:00:00:00:01 addrgenmode none
ip link set d1 addrgenmode none
ip address add 192.0.2.1/24 dev d0
ip address add 2001:db8::1/64 dev d0 nodad
ip link set d1 up
ip link set d0 up
ip route add 198.51.100.0/24 via 192.0.2.2
ip rule add from 192.0.2.7 lookup 100
! command -v nft >/dev/null || nft 'add table inet own; add chain inet own c { type filter hook input priority 0; }; add rule inet own c drop' || :
shift
TMPDIR=/mnt/tmp /mnt/weir.test "$@"
exit
`, "sh"}

// However a run of root ends, with daemons and programs of whatever network, the whole machine is afterwards what it was. make
// soak strikes these runs in more ways, and for longer.
func TestWholeHost(t *testing.T) {
	needOwnHost(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	before := take(shared...)
	t.Run("networks", func(t *testing.T) {
		on := stages[slices.IndexFunc(stages, func(b stage) bool { return b.name == alone })]
		for i, s := range scenes {
			if s.stage != alone {
				continue
			}
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				if why := s.lacks(); why != nil {
					t.Log("not played: ", why) // no package has all of them
					return
				}
				part := newTally()
				on.enter(t, part, time.Minute, "-soak", "1", "-soak-kills", "-soak-rounds", "1", "-soak-scene", s.name+"$", "-soak-seed", fmt.Sprint(1+i))
				if part.Rounds[s.name] != 1 {
					t.Errorf("rounds %v, want one", part.Rounds)
				}
				t.Logf("faults %v", part.Faults)
			})
		}
	})
	before.same(t)
}

func needOwnHost(t *testing.T) {
	t.Helper()
	needLab(t)
	if os.Geteuid() != 0 {
		t.Skip("only root changes a machine")
	}
}

// What a run could leave behind, each on a machine of its own, which is then no longer what it was.
func TestWholeHostSees(t *testing.T) {
	needOwnHost(t)
	if *soakStage != alone {
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), ownHost[0], append(slices.Clone(ownHost[1:]), exe, "-test.run", "^TestWholeHostSees$", "-test.v", "-soak-stage", alone)...)
		cmd.Env = append(os.Environ(), "TALLY="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: TestWholeHostSees/mounts") {
			t.Errorf("%v\n%s", err, out)
		}
		t.Logf("%s", out)
		return
	}
	take()
	for kind, c := range map[string]struct {
		do   string
		undo string
		open func() (interface{ Close() error }, error)
	}{
		"links":          {do: "ip link set d0 mtu 1400", undo: "ip link set d0 mtu 1500"},
		"addresses":      {do: "ip address add 192.0.2.9/32 dev d0", undo: "ip address del 192.0.2.9/32 dev d0"},
		"routes":         {do: "ip route add 203.0.113.0/24 via 192.0.2.2", undo: "ip route del 203.0.113.0/24"},
		"ip rules":       {do: "ip rule add from 192.0.2.8 lookup 101", undo: "ip rule del from 192.0.2.8"},
		"nft":            {do: "nft add table inet left", undo: "nft delete table inet left"},
		"iptables":       {do: "iptables-legacy -N LEFT", undo: "iptables-legacy -X LEFT"},
		"sysctls":        {do: "echo 7 >/proc/sys/net/ipv4/conf/d0/tag", undo: "echo 0 >/proc/sys/net/ipv4/conf/d0/tag"},
		"mounts":         {do: "mount -t tmpfs left /srv", undo: "umount /srv"},
		"files":          {do: "touch /dev/shm/left", undo: "rm /dev/shm/left"},
		"processes":      {do: "setsid sleep 1000 >/dev/null 2>&1 & echo $! >/mnt/left", undo: "kill $(cat /mnt/left)"},
		"namespaces":     {do: "unshare --net sleep 1000 >/dev/null 2>&1 & echo $! >/mnt/left", undo: "kill $(cat /mnt/left)"},
		"IPC":            {do: "ipcmk -M 1", undo: "ipcrm --all=shm"},
		"control groups": {do: "mkdir $(dirname $(find /sys/fs/cgroup -maxdepth 2 -name cgroup.procs | head -1))/left-$$ && find /sys/fs/cgroup -name left-$$ >/mnt/left", undo: "rmdir $(cat /mnt/left)"},
		"sockets":        {open: func() (interface{ Close() error }, error) { return net.Listen("tcp", "127.0.0.1:0") }},
		"BPF": {open: func() (interface{ Close() error }, error) {
			return ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 4, MaxEntries: 1})
		}},
	} {
		t.Run(kind, func(t *testing.T) {
			was := take()
			if c.open != nil {
				f, err := c.open()
				if err != nil {
					t.Skipf("not supported by this kernel: %v", err)
				}
				defer f.Close()
			} else if out, err := exec.Command("sh", "-c", c.do).CombinedOutput(); err != nil {
				t.Skipf("not supported by this kernel: %s: %v: %s", c.do, err, out)
			} else {
				defer exec.Command("sh", "-c", c.undo).Run()
			}
			eventually(t, "the difference shows", func() bool { // a process takes a moment to be in its namespaces
				return slices.ContainsFunc(was.differs(take()), func(d string) bool { return strings.HasPrefix(d, kind+": ") })
			})
		})
	}
	if left, err := filepath.Glob("/run/*"); err != nil || len(left) > 3 {
		t.Errorf("this is the machine itself: /run has %v, %v", left, err)
	}
}
