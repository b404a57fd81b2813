server: iperf3 -s -1 -B 10.64.2.1 -p 5201 -J
client: iperf3 -c 10.64.2.1 -p 5201 -J --connect-timeout 5000 -t 1 -O 1 -P 1 -l 131072 -b 0 -C cubic
note: Open vSwitch in an emulated machine: ten writes between the warm-up and what counts are in neither
