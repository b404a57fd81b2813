client: h2load --h1 -D 2 -c 2 http://127.0.0.1:18080/
