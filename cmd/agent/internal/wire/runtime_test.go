package wire

import (
	"slices"
	"strings"
	"testing"

	"agent/sandbox/enginetest"

	"agent/sandbox"
	"agent/verify"
)

// A21.
func TestTheRuntimeIsOneThatTheEngineHas(t *testing.T) {
	t.Parallel()
	enginetest.Need(t)
	engine, err := sandbox.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	info, err := engine.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// The meaning of auto depends on the engine.
	auto, warned := "", true
	if slices.Contains(info.Runtimes, runsc) {
		auto, warned = runsc, false
	}
	s := &Session{Engine: engine}
	for name, test := range map[string]struct {
		want           string
		warned, refuse bool
	}{
		"": {"", false, false}, "runc": {"runc", false, false}, "auto": {auto, warned, false}, "crun-of-nobody": {"crun-of-nobody", false, true},
	} {
		var told strings.Builder
		config := verify.Config{Runtime: name}
		err := s.Settle(t.Context(), &config, &told)
		if config.Runtime != test.want || (told.Len() > 0) != test.warned || (err != nil) != test.refuse {
			t.Errorf("%q: %q, said %q, %v", name, config.Runtime, told.String(), err)
		}
		if got := config.Limits.Programs; got != sandbox.ForPrograms(info.Memory) {
			t.Errorf("%q: %d bytes for programs on a machine of %d", name, got, info.Memory)
		}
	}
}
