client: fping -C 5 -q -p 20 10.99.0.2 2>&1
