client: h2load -n 5 -c 1 http://127.0.0.1:18081/
