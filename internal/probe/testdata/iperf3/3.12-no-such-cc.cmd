server: iperf3 -s -1 -B 127.0.0.1 -p 5301 -J
client: iperf3 -c 127.0.0.1 -p 5301 -J -t 1 -P 1 -l 131072 -C nosuch --connect-timeout 5000
