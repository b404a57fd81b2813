server: nuttcp -1 --nofork -P 5201
client: nuttcp -P 5201 -p 5211 -T 1 -l100 -R0 -v -fparse -N2 -u 10.64.2.1
