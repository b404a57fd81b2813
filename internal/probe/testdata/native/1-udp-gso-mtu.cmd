weir engine run udp-stream 127.0.0.1:5201 --duration 200ms --warmup 50ms --size 4000 --rate 0 --send gso --batch 16 --recv gro --nap 50µs
