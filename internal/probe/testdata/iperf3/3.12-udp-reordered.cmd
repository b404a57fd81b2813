server: iperf3 -s -1 -B 127.0.0.1 -p 5301 -J
client: iperf3 -c 127.0.0.1 -p 5401 -J -u -t 1 -l 1400 --connect-timeout 5000 -P 1 -b 50000000
note: port 5401 is a relay on loopback that swaps every 10th datagram with the next one
