client: fping -t 1000 -c 5 -p 200 -b 56 10.64.2.1
