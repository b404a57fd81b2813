client: fping -t 1000 -c 100 -p 10 -b 56 10.64.2.1
