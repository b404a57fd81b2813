server: weir host private unbound.conf=server:
  interface: 10.64.2.1
  port: 5201
  do-daemonize: no
  num-threads: 1
  username: ""
  chroot: ""
  directory: "."
  pidfile: ""
  use-syslog: no
  ip-freebind: no
  access-control: 0.0.0.0/0 allow
  access-control: ::/0 allow
  local-zone: "weir.test." static
  local-data: "a.weir.test. A 192.0.2.1"
remote-control:
  control-enable: no
 -- unbound -d -c unbound.conf
client: weir host private queries=a.weir.test A
 -- dnsperf -s 10.64.2.1 -p 5201 -d queries -l 1 -c 1 -T 1 -q 16
