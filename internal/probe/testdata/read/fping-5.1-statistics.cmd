client: fping -s -c 3 -p 20 10.99.0.2 2>&1
