client: fping -c 5 127.0.0.1 2>&1
