server: qperf -lp 5201
client: qperf -lp 5201 -ip 5211 -t 1 -m 1400 -uu -e 9 -un -vvs -vvt -vu 10.64.2.1 udp_bw
