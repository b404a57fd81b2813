server: NPtcp -P 5201 -l 8 -u 8 -p 0 -n 2000 -o /dev/null
client: NPtcp -P 5201 -l 8 -u 8 -p 0 -n 2000 -o /dev/null -h 10.64.2.1
