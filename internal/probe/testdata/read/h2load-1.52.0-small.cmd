client: h2load --h1 -n 500 -c 2 http://127.0.0.1:18080/, of 5 bytes
