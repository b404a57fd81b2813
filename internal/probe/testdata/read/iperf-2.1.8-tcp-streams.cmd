client: iperf -c 127.0.0.1 -p 5901 -t 2 -i 1 -P 2
