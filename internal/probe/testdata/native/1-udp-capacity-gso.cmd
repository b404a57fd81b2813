weir engine run udp-search 127.0.0.1:5202 --duration 5s --warmup 50ms --size 18 --loss 0% --width 2% --phase 100ms --send gso --batch 64 --recv gro --nap 50µs
