package kept

import (
	"context"
	"testing"
	"time"
)

// rows is a cache in memory.
type rows map[string][]byte

func (r rows) Load(_ context.Context, key string) ([]byte, bool, error) {
	data, ok := r[key]
	return data, ok, nil
}

func (r rows) Save(_ context.Context, key string, data []byte) error {
	r[key] = data
	return nil
}

// That a suite is long is remembered for a day, for a directory and the names at its top, with the same tools and settings.
func TestThatASuiteIsLongIsRemembered(t *testing.T) {
	t.Parallel()
	cache, paths := rows{}, []string{"a.py", "tests/test_a.py"}
	s := &Store{Cache: cache, Toolchain: "image", Definitions: "1"}
	if _, ok := s.Long(t.Context(), "/w", paths, "pytest"); ok {
		t.Error("known before")
	}
	if err := s.SaveLong(t.Context(), "/w", paths, "pytest"); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		store *Store
		root  string
		paths []string
		check string
		want  bool
	}{
		"the same":        {s, "/w", paths, "pytest", true},
		"another commit":  {s, "/w", []string{"tests/test_b.py", "a.py", "tests/deep/c.py"}, "pytest", true},
		"another project": {s, "/w", []string{"b.py", "tests/test_a.py"}, "pytest", false},
		"elsewhere":       {s, "/v", paths, "pytest", false},
		"another runner":  {s, "/w", paths, "vitest", false},
		"another image":   {&Store{Cache: cache, Toolchain: "other", Definitions: "1"}, "/w", paths, "pytest", false},
		"another limit":   {&Store{Cache: cache, Toolchain: "image", Definitions: "2"}, "/w", paths, "pytest", false},
		"nothing is kept": {&Store{}, "/w", paths, "pytest", false},
	} {
		if since, ok := c.store.Long(t.Context(), c.root, c.paths, c.check); ok != c.want || ok && time.Since(since) > time.Hour {
			t.Errorf("%s: %v %v", name, since, ok)
		}
	}
	for key := range cache {
		cache[key] = []byte(`"` + time.Now().Add(-LongFor).Format(time.RFC3339) + `"`)
	}
	if since, ok := s.Long(t.Context(), "/w", paths, "pytest"); ok {
		t.Errorf("a day after: %v", since)
	}
}
