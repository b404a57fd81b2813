client: fping -c 3 -p 20 -D 10.99.0.2 10.99.0.1 2>&1
