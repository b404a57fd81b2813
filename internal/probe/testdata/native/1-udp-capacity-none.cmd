weir engine run udp-search 10.64.2.1:5202 --duration 5s --warmup 50ms --size 20000 --loss 0% --width 2% --phase 100ms --send single --batch 1 --recv mmsg --nap 50µs
