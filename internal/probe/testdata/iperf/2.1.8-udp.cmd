server: iperf -s -B 10.64.2.1 -p 5201 -P 1 -l 1470 -e -f b -u
client: iperf -c 10.64.2.1 -p 5201 -P 1 -l 1470 -e -f b -u -t 1 -b 20000000
