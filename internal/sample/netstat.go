package sample

// parseNetstat reads the counters of /proc/net/netstat, which extend those of /proc/net/snmp: TcpExt and
// IpExt as netstat.TCPRcvQDrop, netstat.InNoRoutes … (netstat_seq_show, net/ipv4/proc.c). Names of
// MPTcpExt repeat some of TcpExt's, so they are left out, and so are the many counters that are 0, which a
// missing counter stands for.
func parseNetstat(b []byte) (Counters, error) {
	return parsePairs(b, func(proto, counter, value string) string {
		if value != "0" && (proto == "TcpExt" || proto == "IpExt") {
			return "netstat." + counter
		}
		return ""
	})
}
