written by hand in the form of: sockperf under-load --mps 50 -i 127.0.0.1, over a path of 220 ms
