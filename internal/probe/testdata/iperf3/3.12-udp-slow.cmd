server: iperf3 -s -1 -B 10.64.2.1 -p 5201 -J
client: iperf3 -c 10.64.2.1 -p 5201 -J --connect-timeout 5000 -t 1 -O 1 -P 1 -l 1400 -b 0 -u
note: WireGuard in an emulated machine: a tenth of what was received was under way when the warm-up ended
