server: iperf -s -B 10.64.2.1 -p 5201 -P 3 -l 131072 -e -f b
client: iperf -c 10.64.2.1 -p 5201 -P 3 -l 131072 -e -f b -t 1 -b 100000000 -Z cubic
