weir engine run udp-search 198.18.0.2:5203 --duration 11s --warmup 200ms --size 18 --loss 0%,0.1%,0.5%,2% --width 2% --phase 100ms --send single --batch 1 --recv mmsg --nap 50µs
