# weir needs Go and make. `make run` measures; `make test` proves.

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
# Debian packages that the tests drive for real.
PACKAGES := iperf3 iperf nuttcp sockperf qperf fping iproute2 ethtool procps openvswitch-switch wireguard-tools kmod $(if $(filter aarch64,$(shell uname -m)),qemu-system-arm,qemu-system-x86)

export CGO_ENABLED := 0

.PHONY: run build test tools check golden bench coverage fuzz clean

run: build ## measure what a bridge and a VXLAN overlay cost here; no root needed
	./bin/weir run

build:
	go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/weir ./cmd/weir

test: tools check ## everything, with the real tools
	./scripts/test

tools: ## install what the tests need and is missing
	./scripts/install-tools $(PACKAGES)
	-./scripts/guest-kernel

check:
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "not gofmt-ed: $$unformatted"; exit 1; fi
	go vet ./...
	go run $(STATICCHECK) ./...

golden: ## rewrite the golden files; read the difference before you commit it
	go test $$(grep -rl --include='*_test.go' 'flag.Bool("update"' . | xargs -n1 dirname | sort -u) -update
	UPDATE=1 go test ./cmd/weir

B ?= 8
bench: ## the engine against other tools and a minimal C program, B blocks of a minute; leave the machine alone
	./scripts/install-tools $(PACKAGES) gcc libc6-dev
	go run ./bench -blocks $(B) > docs/benchmarks.md.new
	mv docs/benchmarks.md.new docs/benchmarks.md

R ?= 70
coverage: ## how often the intervals hold the truth, in R runs of 15 s; leave the machine alone
	go run ./bench -coverage $(R) > docs/coverage.md.new
	mv docs/coverage.md.new docs/coverage.md

T ?= 30s
fuzz: ## fuzz every parser for T each
	@for p in $$(go list ./...); do \
		for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz'); do \
			echo "$$p $$f"; go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(T) $$p || exit 1; \
		done; \
	done

clean:
	rm -rf bin
