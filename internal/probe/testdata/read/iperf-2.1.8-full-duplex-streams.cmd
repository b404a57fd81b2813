client: iperf -c 127.0.0.1 -t 1 --full-duplex -e -P 2
