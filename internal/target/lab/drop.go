package lab

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target/local"
)

// dropTime bounds one call of nft(8) on a machine that weir has found.
const dropTime = 10 * time.Second

// drop drops packets at a device of this machine, or stops that.
func (m *Machine) drop(ctx context.Context, d plan.Drop) error {
	ctx, cancel := context.WithTimeoutCause(ctx, dropTime, fmt.Errorf("still running after %v", dropTime))
	defer cancel()
	cmd, _ := local.Command(ctx, d.Argv(), nil)
	said, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.Is(err, exec.ErrNotFound):
		err = fmt.Errorf("%w; install it there (package nftables), or let a command of yours drop packets (command)", err)
	}
	return fmt.Errorf("nft: %w%s", err, quoted(string(said)))
}

// limit returns the request that limits what leaves a device, and the one that ends it.
func (m *Machine) limit(x plan.Rate) (r, back *request, err error) {
	if x.MTU == 0 {
		if _, x.MTU, err = m.place.lookup(x.Dev); err != nil {
			return nil, nil, err
		}
	}
	if r, err = m.place.rate(&x, atRoot); err == nil {
		back, err = m.place.rate(&plan.Rate{Dev: x.Dev}, atRoot)
	}
	return r, back, err
}

// queueLeast is the size of struct tcmsg (include/uapi/linux/rtnetlink.h).
const queueLeast = 20

// queue returns an error unless the kernel itself has chosen how a device queues packets, as it does again when the limit is gone:
// what it chooses has no handle (attach_default_qdiscs, net/sched/sch_generic.c).
func (m *Machine) queue(dev string) error {
	index, err := m.place.index(dev)
	if err != nil {
		return err
	}
	b, _, err := m.place.nl.do(m.place.request(unix.RTM_GETQDISC, unix.NLM_F_ECHO, tcMsg(index, slot{0, root})))
	switch {
	case errors.Is(err, unix.EINVAL): // a device that is down has none
	case err != nil:
		return fmt.Errorf("read how it queues packets: %w", err)
	case len(b) < queueLeast:
		return errors.New("the kernel does not say how it queues packets: let a command of yours limit it (command)")
	case native.Uint32(b[8:]) != 0:
		return fmt.Errorf("somebody has given it a queue of %s (tc qdisc show dev %s), which weir could not make again: let a command of yours limit it (command)",
			strings.TrimSpace(string(trimZero(attribute(b[queueLeast:], unix.TCA_KIND)))), dev)
	}
	return nil
}
