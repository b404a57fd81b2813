package profile

import (
	"slices"
	"strings"
)

// A Layer is a part of the network stack, known by the functions of the kernel that belong to it.
type Layer struct {
	Name string
	// Off is what removes the layer from a run, if weir can: the test of what it costs.
	Off string
	// Functions are names; one with * stands for all names that begin so. The longest match decides, and an
	// exact name wins.
	Functions []string
}

// OwnCode is the layer of samples outside the kernel: the engine's own code, and that of services.
const OwnCode = "own code"

// other is the layer of samples without any known function.
const other = "other"

// layers lists all layers. A sample belongs to the layer of its innermost known function: a lock that the
// bridge takes counts as the bridge's. Names are those of Linux 5.10 to 6.18.
var layers = []Layer{
	{Name: "system call", Functions: []string{
		"entry_SYSCALL*", "do_syscall_64", "x64_sys_call", "invoke_syscall", "el0_svc*", "el0t_64_sync*", "syscall_*", "__x64_sys_*", "__arm64_sys_*", "__sys_*", "___sys_*", "____sys_*", "__se_sys_*",
		"do_recvmmsg", "__sock_sendmsg", "sock_sendmsg*", "sock_recvmsg*", "sockfd_lookup*", "fdget*", "__fdget*", "__fget*", "fput*", "import_iovec", "import_ubuf", "copy_msghdr_from_user", "sendmsg_copy_msghdr", "move_addr_to_kernel", "move_addr_to_user",
		"security_socket_*", "apparmor_*", "aa_*", "selinux_*", "bpf_lsm_*", "ksys_*", "vfs_*", "sock_write_iter", "sock_read_iter", "new_sync_*", "do_epoll_*", "ep_send_events", "ep_poll", "__seccomp_filter", "__audit_*", "exit_to_user_mode*", "sockopt_*", "do_sock_*"}},
	{Name: "UDP", Functions: []string{
		"udp_*", "__udp*", "udp4_*", "udp6_*", "udpv6_*", "udplite*", "__skb_recv_udp", "first_packet_length", "__first_packet_length", "skb_consume_udp"}},
	{Name: "TCP", Functions: []string{
		"tcp_*", "__tcp_*", "tcp4_*", "tcp6_*", "inet_csk_*", "cubictcp_*", "bictcp_*", "sk_stream_*", "sk_forced_mem_schedule", "sk_reset_timer", "inet_ehash*", "__inet_lookup*", "skb_splice*", "skb_rbtree*"}},
	{Name: "ICMP", Functions: []string{"icmp_*", "icmpv6_*", "__icmp*", "ping_*", "raw_rcv*", "raw_sendmsg", "raw_recvmsg"}},
	{Name: "IP and route", Functions: []string{
		"ip_*", "__ip_*", "ip4_*", "ip6_*", "__ip6_*", "ipv6_*", "ipv4_*", "inet_*", "inet6_*", "__inet_*", "fib_*", "__fib*", "fib6_*", "dst_*", "__dst*", "rt_*", "rt6_*", "ip6table_lookup*", "neigh_*", "__neigh_*", "arp_*", "__ipv4_*", "__mkroute*", "find_exception", "l3mdev_*", "rt_cache*", "sk_dst_*", "__sk_dst*", "xfrm_*", "__xfrm*", "ipcm_*", "raw_local_deliver", "raw_v4_*", "raw_v6_*", "raw6_*"}},
	{Name: "br_netfilter", Off: "the factor bridge-nf=off, if it is on", Functions: []string{
		"br_nf_*", "nf_bridge_*", "setup_pre_routing", "nf_br_*", "brnf_*", "br_validate_ipv4", "br_validate_ipv6", "skb_ext_add"}},
	{Name: "bridge", Off: "the network routed has no bridge", Functions: []string{
		"br_*", "__br_*", "nbp_*", "ebt_*", "ebtable_*", "fdb_*"}},
	{Name: "veth", Off: "the network macvlan has no veth pair", Functions: []string{"veth_*"}},
	{Name: "macvlan and ipvlan", Functions: []string{"macvlan_*", "ipvlan_*"}},
	{Name: "vxlan and tunnels", Off: "a network without encapsulation", Functions: []string{
		"vxlan_*", "__vxlan_*", "geneve_*", "udp_tunnel_*", "udp_tunnel6_*", "__udp_tunnel*", "iptunnel_*", "__iptunnel_*", "ip_tunnel_*", "ip_md_tunnel_*", "ipip_*", "tunnel4_*", "gre_*", "gro_cell*", "skb_tunnel_*", "setup_udp_tunnel_sock", "udp_flow_src_port", "skb_scrub_packet", "wg_*", "chacha20*", "poly1305*"}},
	{Name: "netfilter and conntrack", Functions: []string{
		"nf_*", "__nf_*", "nft_*", "__nft_*", "ipt_*", "ip6t_*", "xt_*", "iptable_*", "arpt_*", "hash_conntrack*", "nfqnl_*", "nfnl_*", "set_match*", "ip_set_*", "ip_vs_*"}},
	{Name: "Open vSwitch", Functions: []string{
		"ovs_*", "__ovs_*", "do_execute_actions", "clone_execute", "execute_masked_set_action", "flow_lookup", "masked_flow_lookup", "key_extract*", "netdev_frame_hook", "rpl_*"}},
	{Name: "BPF and tracing", Functions: []string{"bpf_*", "__bpf_*", "__traceiter_*", "perf_trace_*", "trace_event_*", "copy_from_kernel_nofault*", "cls_bpf_*", "tcf_*", "__tcf_*", "sch_handle_*", "tc_run", "tcx_*"}},
	{Name: "device core", Functions: []string{
		"dev_*", "__dev_*", "netif_*", "__netif_*", "netdev_*", "__netdev_*", "napi_*", "__napi_*", "gro_*", "skb_gro_*", "inet_gro_*", "validate_xmit_*", "skb_network_protocol", "skb_mac_gso_segment", "__skb_gso_segment", "skb_segment*", "skb_gso_*", "skb_udp_tunnel_segment", "passthru_features_check", "enqueue_to_backlog", "process_backlog", "rps_*", "get_rps_cpu", "eth_*", "skb_flow_dissect*", "__skb_flow_*", "__skb_get_hash*", "skb_get_hash*", "flow_hash*", "skb_vlan_*", "vlan_*", "__vlan_*", "deliver_skb", "loopback_*", "dummy_xmit", "ethtool_*", "skb_clone_tx_timestamp", "qdisc_*", "__qdisc_*", "sch_direct_xmit", "pfifo_*", "fq_*", "tbf_*", "netem_*", "noqueue_*", "packet_*", "tpacket_*", "__netpoll*", "virtqueue_*", "virtnet_*", "start_xmit", "xmit_skb", "skb_tx_*", "skb_do_copy_data*", "list_netdevice", "net_enable_timestamp"}},
	{Name: "TUN and virtual machines", Functions: []string{
		"vhost_*", "tun_*", "tap_*", "kvm_*", "vmx_*", "svm_*", "vcpu_*", "handle_rx*", "handle_tx*", "get_tx_bufs", "__kvm*", "irqfd_*", "eventfd_*", "ioeventfd_*"}},
	{Name: "softirq entry", Functions: []string{
		"handle_softirqs", "__do_softirq", "do_softirq", "do_softirq_own_stack", "____do_softirq", "call_on_irq_stack", "__local_bh_enable_ip", "__local_bh_disable_ip", "net_rx_action", "net_tx_action", "raise_softirq*", "__raise_softirq*", "run_ksoftirqd", "smpboot_thread_fn", "irq_exit*", "__irq_exit*", "tasklet_*", "rcu_core*", "run_timer_softirq", "sched_balance_softirq"}},
	{Name: "interrupts and timers", Functions: []string{
		"asm_*", "sysvec_*", "__sysvec_*", "common_interrupt", "__common_interrupt", "irqentry_*", "irq_enter*", "handle_irq*", "__handle_irq*", "generic_handle*", "hrtimer_*", "__hrtimer_*", "tick_*", "update_process_times", "timekeeping_*", "clockevents_*", "lapic_*", "native_apic*", "native_send*", "flush_smp_call*", "generic_smp_call*", "kvm_guest_apic*", "run_timer*", "timer_*", "mod_timer*", "el1_interrupt*", "el1h_64_irq*", "gic_*"}},
	{Name: "time stamps", Functions: []string{"ktime_get*", "read_tsc", "pvclock_*", "kvm_clock_*", "arch_counter_*", "__net_timestamp", "net_timestamp_*", "sched_clock*", "local_clock*"}},
	{Name: "allocation", Functions: []string{
		"kmem_cache_*", "__kmem_cache*", "kmalloc*", "__kmalloc*", "kfree*", "__kfree_skb", "skb_release_*", "__alloc_skb", "alloc_skb*", "sock_alloc_send_*", "sock_wmalloc", "build_skb*", "__build_skb*", "skb_free*", "consume_skb", "__consume_stateless_skb", "sk_skb_reason_drop", "napi_alloc_skb", "__napi_alloc_skb", "__netdev_alloc*", "page_frag_*", "__page_frag*", "alloc_pages*", "__alloc_pages*", "__alloc_frozen*", "get_page_from_freelist", "free_unref*", "free_frozen*", "__free_pages*", "free_pages*", "__slab_*", "___slab_*", "slab_*", "__put_page", "put_page*", "__folio_put*", "napi_skb_cache_*", "__napi_kfree_skb", "napi_consume_skb", "sk_page_frag_refill", "skb_page_frag_refill", "sock_wfree", "sock_rfree", "__sock_wfree", "sock_efree", "skb_attempt_defer_free", "skb_clone", "__skb_clone", "skb_copy", "pskb_*", "__pskb_*", "skb_expand_head", "skb_ext_*", "__skb_ext_*", "sk_mem_*", "__sk_mem_*", "__refill_*", "refill_obj*", "obj_cgroup_*", "mem_cgroup_*", "memset*", "__memset*", "skb_defer_free*", "clear_page*", "prep_new_page", "put_cpu_partial", "memcg_*", "__memcg_*", "rmqueue*"}},
	{Name: "copy", Functions: []string{
		"copy_*", "_copy_*", "__copy_*", "rep_movs*", "memcpy*", "__memcpy*", "memmove*", "__memmove*", "csum_and_copy_*", "csum_partial_copy*", "skb_copy_*", "simple_copy_to_iter", "__skb_datagram_iter", "ip_generic_getfrag", "__check_object_size", "check_heap_object", "__check_heap_object", "check_stack_object", "is_vmalloc_addr", "__virt_addr_valid", "_raw_copy*", "__arch_copy*", "rawv6_getfrag", "skb_store_bits", "strncpy_from_user", "__get_user*", "__put_user*"}},
	{Name: "checksum", Off: "the factor offload=on leaves it to the NIC", Functions: []string{
		"csum_*", "__skb_checksum*", "skb_checksum*", "do_csum", "ip_fast_csum", "ip_compute_csum", "udp_csum*", "__udp4_lib_checksum", "tcp_v4_send_check", "__tcp_v4_send_check", "udp_set_csum", "udp4_hwcsum", "udp_v4_check"}},
	{Name: "wake-up", Functions: []string{
		"sock_def_readable", "sock_def_write_space", "__wake_up*", "wake_up_*", "autoremove_wake_function", "default_wake_function", "receiver_wake_function", "woken_wake_function", "pollwake", "ep_poll_callback", "ep_autoremove_wake*", "try_to_wake_up", "ttwu_*", "select_task_rq*", "select_idle_*", "available_idle_cpu", "swake_up_*", "complete*", "futex_*", "__futex*", "resched_curr*", "__skb_wait_for_more_packets", "sk_wait_data", "sock_wait*", "add_wait_queue*", "remove_wait_queue*", "prepare_to_wait*", "finish_wait", "eventpoll_*", "__smp_call_single_queue*", "call_function_single*"}},
	{Name: "scheduling", Functions: []string{
		"schedule", "schedule_*", "__schedule", "preempt_schedule*", "__cond_resched", "finish_task_switch", "pick_next_*", "pick_task*", "__pick_next*", "pick_eevdf", "dequeue_*", "enqueue_task*", "enqueue_entity", "update_curr*", "update_load_*", "__update_load*", "update_rq_*", "psi_*", "__switch_to*", "switch_mm*", "context_switch", "prepare_task_switch", "put_prev_*", "set_next_*", "sched_*", "__sched_*", "task_tick*", "task_*", "activate_task", "deactivate_task", "do_sched_yield", "yield_task*", "reweight_*", "place_entity", "rebalance_domains", "load_balance", "newidle_balance", "do_idle", "cpu_startup_entry", "kthread", "worker_thread", "process_one_work", "ret_from_fork*", "account_*", "switch_fpu*", "restore_fpregs*"}},
}

// Off returns what removes a layer from a run, "" if weir cannot.
func Off(layer string) string {
	if i := slices.IndexFunc(layers, func(l Layer) bool { return l.Name == layer }); i >= 0 {
		return layers[i].Off
	}
	return ""
}

// A classifier finds layers by function.
type classifier struct {
	exact    map[string]string
	prefixes []prefix // longest first
	known    map[string]string
}

type prefix struct{ begin, layer string }

func newClassifier() *classifier {
	c := &classifier{exact: map[string]string{}, known: map[string]string{}}
	for _, l := range layers {
		for _, f := range l.Functions {
			if begin, all := strings.CutSuffix(f, "*"); all {
				c.prefixes = append(c.prefixes, prefix{begin, l.Name})
			} else {
				c.exact[f] = l.Name
			}
		}
	}
	slices.SortStableFunc(c.prefixes, func(a, b prefix) int { return len(b.begin) - len(a.begin) })
	return c
}

// layer returns the layer of a function, "" if it is not known.
func (c *classifier) layer(function string) string {
	if l, ok := c.exact[function]; ok {
		return l
	}
	l, ok := c.known[function]
	if !ok {
		if i := slices.IndexFunc(c.prefixes, func(p prefix) bool { return strings.HasPrefix(function, p.begin) }); i >= 0 {
			l = c.prefixes[i].layer
		}
		c.known[function] = l
	}
	return l
}

// of returns the layer of a stack: that of its innermost known function.
func (c *classifier) of(s Stack) string {
	if len(s.Frames) == 1 {
		return OwnCode
	}
	for _, f := range slices.Backward(s.Frames[1:]) {
		if l := c.layer(f); l != "" {
			return l
		}
	}
	return other
}
