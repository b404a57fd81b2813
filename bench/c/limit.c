/*
 * limit: the least work with which a C program can send and receive, and so the
 * limit of a traffic engine on plain sockets on this machine.
 *
 *   limit tcp-recv ADDR PORT               one connection; prints bit/s received
 *   limit tcp-send ADDR PORT SECONDS       128 KiB per send, cubic
 *   limit udp-recv ADDR PORT               prints packet/s received when stopped
 *   limit udp-send ADDR PORT SECONDS SIZE  one send per datagram
 *   limit rr-serve ADDR PORT               UDP echo, spinning
 *   limit rr-ask ADDR PORT SECONDS         64 bytes, spinning; prints transactions/s
 *
 * It must stay minimal: no options, no statistics, no checks that slow the loop.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static char buf[128 << 10];
static volatile sig_atomic_t stopped;

static void stop(int sig) { stopped = sig; }

static void die(const char *what) {
	perror(what);
	exit(1);
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static struct sockaddr_in at(char **argv) {
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[3]))};
	if (inet_pton(AF_INET, argv[2], &a.sin_addr) != 1) {
		fprintf(stderr, "%s is not an IPv4 address\n", argv[2]);
		exit(2);
	}
	return a;
}

static int sock(int type, char **argv, int serve) {
	struct sockaddr_in a = at(argv);
	int one = 1, big = 4 << 20, fd = socket(AF_INET, type, 0);
	if (fd < 0)
		die("socket");
	if (type == SOCK_STREAM) {
		if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5))
			die("cubic");
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	} else if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &big, sizeof big)) {
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &big, sizeof big);
	}
	if (serve ? bind(fd, (void *)&a, sizeof a) : connect(fd, (void *)&a, sizeof a))
		die(serve ? "bind" : "connect");
	return fd;
}

static void tcp_recv(char **argv) {
	int l = sock(SOCK_STREAM, argv, 1);
	if (listen(l, 1))
		die("listen");
	int fd = accept(l, NULL, NULL);
	if (fd < 0)
		die("accept");
	double start = now(), bytes = 0;
	for (ssize_t n; (n = recv(fd, buf, sizeof buf, 0)) > 0;)
		bytes += n;
	printf("%.0f\n", bytes * 8 / (now() - start));
}

static void tcp_send(char **argv) {
	int fd = sock(SOCK_STREAM, argv, 0);
	for (double end = now() + atof(argv[4]); now() < end;)
		if (send(fd, buf, sizeof buf, 0) < 0)
			die("send");
}

static void udp_recv(char **argv) {
	int fd = sock(SOCK_DGRAM, argv, 1);
	double first = 0, last = 0;
	long n = 0;
	while (!stopped) {
		if (recv(fd, buf, sizeof buf, 0) < 0)
			continue;
		if (n++ == 0)
			first = now();
		if ((n & 1023) == 0)
			last = now();
	}
	printf("%.0f\n", n > 2048 ? n / (last - first) : 0);
}

static void udp_send(char **argv) {
	int fd = sock(SOCK_DGRAM, argv, 0), size = atoi(argv[5]);
	long i = 0;
	for (double end = now() + atof(argv[4]); (++i & 63) || now() < end;)
		if (send(fd, buf, size, 0) < 0 && errno != ENOBUFS && errno != ECONNREFUSED)
			die("send");
}

static void rr_serve(char **argv) {
	int fd = sock(SOCK_DGRAM, argv, 1);
	struct sockaddr_in from;
	while (!stopped) {
		socklen_t len = sizeof from;
		ssize_t n = recvfrom(fd, buf, sizeof buf, MSG_DONTWAIT, (void *)&from, &len);
		if (n >= 0)
			sendto(fd, buf, n, 0, (void *)&from, len);
	}
}

static void rr_ask(char **argv) {
	int fd = sock(SOCK_DGRAM, argv, 0);
	double start = now(), end = start + atof(argv[4]);
	long n = 0;
	while (now() < end) {
		if (send(fd, buf, 64, 0) < 0)
			die("send");
		while (recv(fd, buf, sizeof buf, MSG_DONTWAIT) < 0)
			if (now() > end)
				goto out;
		n++;
	}
out:
	printf("%.0f\n", n / (now() - start));
}

int main(int argc, char **argv) {
	static const struct {
		const char *name;
		int args;
		void (*run)(char **);
	} modes[] = {{"tcp-recv", 4, tcp_recv}, {"tcp-send", 5, tcp_send}, {"udp-recv", 4, udp_recv},
	             {"udp-send", 6, udp_send}, {"rr-serve", 4, rr_serve}, {"rr-ask", 5, rr_ask}};
	struct sigaction a = {.sa_handler = stop}; /* without SA_RESTART: recv returns */
	sigaction(SIGTERM, &a, NULL);
	for (unsigned i = 0; i < sizeof modes / sizeof *modes; i++)
		if (argc == modes[i].args && !strcmp(argv[1], modes[i].name)) {
			modes[i].run(argv);
			return 0;
		}
	fprintf(stderr, "usage: see the head of limit.c\n");
	return 2;
}
