client: kubectl logs --timestamps of: iperf3 -R -P 4 -t 2 -c 127.0.0.1
