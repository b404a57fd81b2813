package profile

import (
	"slices"
	"strings"
	"testing"
)

// examples has functions of each layer, of Linux 6.18, among them those that a shorter prefix would take.
var examples = map[string][]string{
	"system call":              {"do_syscall_64", "__x64_sys_sendmmsg", "entry_SYSCALL_64_after_hwframe", "__sys_sendmmsg", "____sys_sendmsg"},
	"UDP":                      {"udp_sendmsg", "__udp4_lib_rcv", "udp_queue_rcv_one_skb", "udpv6_sendmsg", "udp4_lib_lookup2", "__udp_enqueue_schedule_skb"},
	"TCP":                      {"tcp_sendmsg_locked", "__tcp_transmit_skb", "tcp_v4_rcv", "cubictcp_acked"},
	"ICMP":                     {"icmp_rcv", "ping_v4_sendmsg"},
	"IP and route":             {"ip_output", "ip_rcv_core", "fib_table_lookup", "__ip_append_data", "ipv4_dst_check", "neigh_hh_output", "ip_local_deliver_finish", "inet_sendmsg"},
	"br_netfilter":             {"br_nf_pre_routing", "br_nf_forward_ip", "setup_pre_routing", "nf_bridge_alloc", "br_nf_hook_thresh"},
	"bridge":                   {"br_handle_frame", "br_forward", "br_fdb_update", "br_dev_xmit", "__br_forward"},
	"veth":                     {"veth_xmit", "veth_poll"},
	"macvlan and ipvlan":       {"macvlan_start_xmit", "ipvlan_handle_frame"},
	"vxlan and tunnels":        {"vxlan_xmit_one", "vxlan_rcv", "udp_tunnel_xmit_skb", "iptunnel_xmit", "gro_cells_receive", "gro_cell_poll", "ip_tunnel_xmit", "ip_md_tunnel_xmit", "wg_xmit"},
	"netfilter and conntrack":  {"nf_hook_slow", "nft_do_chain", "nf_conntrack_in", "__nf_conntrack_find_get", "ipt_do_table", "ip_vs_in_hook"},
	"Open vSwitch":             {"ovs_vport_receive", "do_execute_actions"},
	"BPF and tracing":          {"bpf_prog_6deef7357e7b4530_cil", "tcf_classify", "__bpf_prog_run"},
	"device core":              {"__dev_queue_xmit", "dev_hard_start_xmit", "__netif_receive_skb_core", "process_backlog", "napi_gro_receive", "dev_gro_receive", "inet_gro_receive", "sch_direct_xmit", "fq_codel_dequeue", "loopback_xmit", "skb_segment", "eth_type_trans", "netif_skb_features"},
	"TUN and virtual machines": {"vhost_worker", "tun_get_user", "kvm_arch_vcpu_ioctl_run", "handle_tx"},
	"softirq entry":            {"handle_softirqs", "__local_bh_enable_ip", "net_rx_action", "do_softirq", "run_ksoftirqd"},
	"interrupts and timers":    {"asm_sysvec_apic_timer_interrupt", "hrtimer_interrupt", "tick_nohz_handler"},
	"time stamps":              {"ktime_get", "ktime_get_with_offset", "read_tsc", "pvclock_clocksource_read"},
	"allocation":               {"kmem_cache_alloc_node_noprof", "kmem_cache_free", "__alloc_skb", "skb_release_data", "kfree_skbmem", "consume_skb", "sock_alloc_send_pskb", "sock_wfree", "__slab_free", "skb_ext_maybe_cow"},
	"copy":                     {"rep_movs_alternative", "_copy_from_iter", "__skb_datagram_iter", "ip_generic_getfrag", "__check_object_size", "copy_user_generic_string"},
	"checksum":                 {"csum_partial", "__skb_checksum_complete", "ip_fast_csum", "udp_set_csum"},
	"wake-up":                  {"sock_def_readable", "try_to_wake_up", "__wake_up_common", "ep_poll_callback"},
	"scheduling":               {"__schedule", "schedule", "pick_next_task_fair", "finish_task_switch", "update_curr"},
}

func TestLayers(t *testing.T) {
	c := newClassifier()
	for _, l := range layers {
		if len(examples[l.Name]) == 0 {
			t.Errorf("%s has no example", l.Name)
		}
		for _, f := range examples[l.Name] {
			if got := c.layer(f); got != l.Name {
				t.Errorf("%s belongs to %q, want %q", f, got, l.Name)
			}
		}
	}
	if got := c.layer("_raw_spin_lock"); got != "" {
		t.Errorf("a lock belongs to %q, want its caller", got)
	}
	if Off("br_netfilter") == "" || Off("UDP") != "" || Off("no layer") != "" {
		t.Errorf("removed by: %q, %q, %q", Off("br_netfilter"), Off("UDP"), Off("no layer"))
	}
}

// Every function is in one layer, and no name is without effect.
func TestLayersAreDistinct(t *testing.T) {
	seen := map[string]string{}
	for _, l := range layers {
		for _, f := range l.Functions {
			if was, twice := seen[f]; twice {
				t.Errorf("%s is in %s and %s", f, was, l.Name)
			}
			seen[f] = l.Name
			if begin, all := strings.CutSuffix(f, "*"); !all && slices.ContainsFunc(l.Functions, func(o string) bool {
				p, ok := strings.CutSuffix(o, "*")
				return ok && strings.HasPrefix(begin, p)
			}) && newClassifierWithout(f).layer(f) == l.Name {
				t.Errorf("%s: %s is in a prefix already", l.Name, f)
			}
		}
	}
}

// newClassifierWithout leaves a function out.
func newClassifierWithout(f string) *classifier {
	c := newClassifier()
	delete(c.exact, f)
	return c
}

func TestOf(t *testing.T) {
	c := newClassifier()
	for _, x := range []struct {
		frames []string
		want   string
	}{
		{[]string{"client"}, OwnCode},
		{[]string{"client", "do_syscall_64", "br_forward", "_raw_spin_lock"}, "bridge"},
		{[]string{"client", "do_syscall_64", "udp_sendmsg", "rep_movs_alternative"}, "copy"},
		{[]string{Kernel, "unheard_of"}, other},
	} {
		if got := c.of(Stack{x.frames, 1}); got != x.want {
			t.Errorf("%v belongs to %q, want %q", x.frames, got, x.want)
		}
	}
}
