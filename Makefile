# Thin wrappers: the go command alone is enough for everything but "run".
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

VERSION     := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
T           ?= 10s

.PHONY: run build test check golden fuzz clean

run: build ## build, measure the default study on this machine without root, print the report
	./bin/weir run

build: ## bin/weir, one static binary
	CGO_ENABLED=0 go build -trimpath -ldflags "-X main.version=$(VERSION)" -o bin/weir ./cmd/weir

test: check ## everything that a pull request must pass; installs what the tests can use
	@.ci/deps
	@go build -o bin/testlog .ci/testlog.go
	@go test -json ./... | bin/testlog .ci/skips

check: ## formatting and static analysis
	@out=$$(gofmt -l .); test -z "$$out" || { echo "gofmt -w needed:"; echo "$$out"; exit 1; }
	go vet ./...
	go run $(STATICCHECK) ./...

golden: ## write the golden files anew; review them with git diff
	go test $$(grep -rl --include='*_test.go' 'flag.Bool("update"' . | xargs -n1 dirname | sort -u) -update

fuzz: ## every fuzz target for T (10s)
	@for p in $$(go list ./...); do \
	  for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz' || true); do \
	    echo "$$p $$f"; go test $$p -run '^$$' -fuzz "^$$f$$" -fuzztime $(T); \
	  done; \
	done

clean:
	rm -rf bin
