server: iperf -s -B 10.64.2.1 -p 5401 -P 1 -l 131072 -e -f b
client: iperf -c 10.64.2.1 -p 5401 -P 1 -l 131072 -e -f b -t 1 -Z bogus
