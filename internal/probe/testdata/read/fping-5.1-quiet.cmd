client: fping -q -c 5 127.0.0.1 2>&1
