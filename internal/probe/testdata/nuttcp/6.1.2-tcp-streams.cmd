server: nuttcp -1 --nofork -P 5201
client: nuttcp -P 5201 -p 5211 -T 1 -l131072 -R0 -v -fparse -N2 10.64.2.1
