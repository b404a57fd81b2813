client: wrk -d 2 -c 4 -t 1 --latency http://127.0.0.1:18080/, of 5 bytes
