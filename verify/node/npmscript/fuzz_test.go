package npmscript

import "testing"

// FuzzRead reads any scripts of a package: they may call each other and themselves, and reading them ends.
func FuzzRead(f *testing.F) {
	f.Add("npm run b && node --test", "npm test || npx c8 vitest run")
	f.Add("npm-run-all b b", "npm-run-all -p test:* test")
	f.Add("FOO=$(echo x) cross-env A=b sh -c 'node --test \"a b\"'", "for i in 1 2; do mocha; done")
	f.Add("$(", "'")
	f.Fuzz(func(t *testing.T, test, b string) {
		for _, s := range Read(map[string]string{"test": test, "b": b, "pretest": b, "posttest": test}, "test") {
			if s.Whole && len(s.Words) == 0 || s.Text == "" {
				t.Errorf("%+v in %q and %q", s, test, b)
			}
		}
	})
}
