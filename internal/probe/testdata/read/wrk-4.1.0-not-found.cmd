client: wrk -d 2 -c 2 -t 1 http://127.0.0.1:18080/no
