package lab

import (
	"fmt"
	"net"

	"golang.zx2c4.com/wireguard/wgctrl"
	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"

	"github.com/weir-bench/weir/internal/plan"
)

// wireguard gives a device its peers and its key, which is generated once per lab.
func (l *lab) wireguard(p *place, k *plan.Link) error {
	key, err := l.key(p.name, k.Name)
	if err != nil {
		return fmt.Errorf("key of %s: %w", k.Name, err)
	}
	c := wgtypes.Config{PrivateKey: &key, ListenPort: &k.Port}
	for _, peer := range k.Peers {
		key, err := l.key(peer.In, k.Name)
		if err != nil {
			return fmt.Errorf("key of %s in %s: %w", k.Name, peer.In, err)
		}
		w := wgtypes.PeerConfig{PublicKey: key.PublicKey(), Endpoint: net.UDPAddrFromAddrPort(peer.Endpoint)}
		for _, a := range peer.Allowed {
			w.AllowedIPs = append(w.AllowedIPs, net.IPNet{IP: a.Addr().AsSlice(), Mask: net.CIDRMask(a.Bits(), a.Addr().BitLen())})
		}
		c.Peers = append(c.Peers, w)
	}
	err = p.ns.Do(func() error {
		wg, err := wgctrl.New()
		if err != nil {
			return err
		}
		defer wg.Close()
		return wg.ConfigureDevice(k.Name, c)
	})
	if err != nil {
		return fmt.Errorf("peers of %s: %w", k.Name, err)
	}
	return nil
}

func (l *lab) key(in, dev string) (wgtypes.Key, error) {
	at := [2]string{in, dev}
	if key, ok := l.keys[at]; ok {
		return key, nil
	}
	key, err := wgtypes.GeneratePrivateKey()
	if err == nil {
		l.keys[at] = key
	}
	return key, err
}
