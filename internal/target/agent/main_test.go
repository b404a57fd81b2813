package agent

import (
	"testing"

	"github.com/weir-bench/weir/internal/nstest"
)

// Tests run as process 1 of namespaces, and fail when they leave something behind.
func TestMain(m *testing.M) { nstest.Main(m, nil) }
