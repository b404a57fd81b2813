client: iperf -c 127.0.0.1 -p 5901 -t 1 -y C -P 2
