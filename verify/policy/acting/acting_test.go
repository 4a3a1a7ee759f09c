package acting

import (
	"strings"
	"testing"
)

// A row that lacks a part, or a name that two tools share, would tell a person nothing or the wrong thing.
func TestEveryRowIsWhole(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for kind := OnOpen; kind <= ByAgent; kind++ {
		if len(Rows(kind)) == 0 {
			t.Errorf("kind %d has no row", kind)
		}
		for _, row := range Rows(kind) {
			if row.Tool == "" || len(row.Names) == 0 || !strings.HasSuffix(row.Why, ".") || !strings.HasPrefix(row.Source, "https://") {
				t.Errorf("%s: %+v", row.Tool, row)
			}
			for _, name := range row.Names {
				if seen[name] != "" || strings.Contains(name, `\`) {
					t.Errorf("%s of %s is also one of %s", name, row.Tool, seen[name])
				}
				seen[name] = row.Tool
			}
		}
	}
}

func TestPatternsFitPaths(t *testing.T) {
	t.Parallel()
	for pattern, paths := range map[string]struct{ fits, not string }{
		"a.yml":    {`a.yml x/a.yml x/y/A.YML x\a.yml`, `a.yml/x b.yml aa.yml`},
		"a*.yml":   {`a.yml x/ab.yml`, `a/b.yml xa.yml`},
		".d/":      {`.d .d/x x/.d/y/z .D/x .d./x`, `d/x .dd/x x.d/y`},
		"a/b":      {`a/b x/a/b A\B`, `a/b/c b a/x/b`},
		"a/b/":     {`a/b a/b/c x/a/b/c`, `a/c b/c`},
		"/a":       {`a A`, `x/a a/x`},
		"/a/":      {`a a/x a/x/y`, `x/a x/a/y`},
		"/a/*.yml": {`a/x.yml`, `x/a/x.yml a/x/y.yml`},
		"AB.md":    {`AB.md x/AB.md x\AB.md`, `ab.md x/Ab.md`},
	} {
		list := Compile([]string{"never", pattern})
		for _, p := range strings.Fields(paths.fits) {
			if !NewPath(p).In(list) {
				t.Errorf("%s does not fit %s", pattern, p)
			}
		}
		for _, p := range strings.Fields(paths.not) {
			if NewPath(p).In(list) {
				t.Errorf("%s fits %s", pattern, p)
			}
		}
	}
}
