package archive_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"agent/orchestrator/archive"
)

// A key is created once, whichever caller is first, and nobody else can read it.
func TestAKeyIsMadeOnce(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "new", "attest.key")
	ids := make([]string, 8)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() {
			key, err := archive.LoadKey(name)
			if err == nil {
				ids[i], err = key.KeyID()
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, id := range ids {
		if id == "" || id != ids[0] {
			t.Errorf("the keys are %v", ids)
		}
	}
	info, err := os.Stat(name)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("the key has the mode %v, %v", info.Mode(), err)
	}
	if left, err := os.ReadDir(filepath.Dir(name)); err != nil || len(left) != 1 {
		t.Errorf("beside it are %v, %v", left, err)
	}
	if err := os.Chmod(name, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.LoadKey(name); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key that others can read gives %v", err)
	}
}

// A file that is not a key is not replaced: somebody may have put it there on purpose.
func TestWhatIsNoKeyIsLeftAlone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"hello": "not PEM", "-----BEGIN X-----\nAAAA\n-----END X-----\n": "not an ed25519 key"} {
		name := filepath.Join(t.TempDir(), "attest.key")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.LoadKey(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v", text, err)
		}
		if is, err := os.ReadFile(name); err != nil || string(is) != text {
			t.Errorf("%q became %q, %v", text, is, err)
		}
		if _, err := archive.ParsePublic([]byte(text)); err == nil {
			t.Errorf("%q is a public key", text)
		}
	}
	key, err := archive.LoadKey(filepath.Join(t.TempDir(), "attest.key"))
	if err != nil {
		t.Fatal(err)
	}
	public, err := key.PEM()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := archive.ParsePublic(append(public, "more"...)); err == nil || !strings.Contains(err.Error(), "in its canonical form") {
		t.Errorf("a key with more behind it gives %v", err)
	}
}
