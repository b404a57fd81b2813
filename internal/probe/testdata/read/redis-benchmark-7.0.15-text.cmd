client: redis-benchmark -p 16379 -n 20000 -t set
