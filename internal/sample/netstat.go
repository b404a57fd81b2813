package sample

// parseNetstat reads the counters of /proc/net/netstat, which extend those of /proc/net/snmp: TcpExt and
// IpExt as netstat.TCPRcvQDrop, netstat.InNoRoutes … (netstat_seq_show, net/ipv4/proc.c). Names of
// MPTcpExt repeat some of TcpExt's, so they are left out.
func parseNetstat(b []byte) (Counters, error) {
	return parsePairs(b, func(proto, counter string) string {
		if proto == "TcpExt" || proto == "IpExt" {
			return "netstat." + counter
		}
		return ""
	})
}
