client: iperf -c 127.0.0.1 -u -b 20m -p 5902 -t 1 -y C
