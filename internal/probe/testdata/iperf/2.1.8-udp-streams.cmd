server: iperf -s -B 10.64.2.1 -p 5201 -P 3 -l 100 -e -f b -u
client: iperf -c 10.64.2.1 -p 5201 -P 3 -l 100 -e -f b -u -t 1 -b 3333333
