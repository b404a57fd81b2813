package agent

import (
	"testing"

	"github.com/weir-bench/weir/internal/nstest"
)

// The tests run as process 1 of namespaces, where nothing that they leave is missed.
func TestMain(m *testing.M) { nstest.Main(m, nil) }
