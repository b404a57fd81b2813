server: redis-server --bind 10.64.2.1 --port 5201 --protected-mode no --save  --appendonly no
client: redis-benchmark -h 10.64.2.1 -p 5201 -t set -n 50000 -c 50 -d 64 --csv
