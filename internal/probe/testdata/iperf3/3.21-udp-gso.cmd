server: iperf3 -s -1 -B 127.0.0.1 -p 5301 -J
client: iperf3 -c 127.0.0.1 -p 5301 -J --connect-timeout 5000 -t 1 -O 1 -P 1 -l 1400 -b 0 -u --gsro
