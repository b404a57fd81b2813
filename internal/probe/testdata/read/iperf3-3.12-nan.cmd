client: iperf3 -u -J -c 127.0.0.1, with a rate that an old version prints
