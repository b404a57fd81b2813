client: kubectl run -it --image iperf3 a -- iperf3 -J -c 127.0.0.1
