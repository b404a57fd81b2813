server: weir host private -- memcached -l 10.64.2.1 -p 5201 -U 0 -t 1 -m 128
client: memcaslap -s 10.64.2.1:5201 -T 1 -c 16 -X 64 -o 1.0 -t 1s -S 1s
