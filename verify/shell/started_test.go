package shell

import (
	"slices"
	"testing"

	"agent/verify/check"
	"agent/verify/verifytest"
)

func TestStartedFollowsScriptsAndNotTheirData(t *testing.T) {
	t.Parallel()
	v := check.OnBase(verifytest.Scan(t, map[string]string{
		"check.sh":           "#!/bin/sh\nset -eu\n. tools/common.sh\npython3 -I tools/sums.py docs/sums.txt && ./deep\ngrep -q x docs/more.txt | tools/count\n",
		"tools/common.sh":    "source lib.sh\ncat tools/data.txt\n",
		"tools/lib.sh":       "echo tools/data.txt\nif MODE=x ./main.py; then :; fi\n",
		"tools/sums.py":      "open('docs/sums.txt')\n",
		"tools/count":        "#!/bin/sh\n",
		"tools/data.txt":     "",
		"deep":               "#!/usr/bin/env bash\n(cd docs; bash ../tools/lib.sh)\n",
		"docs/sums.txt":      "",
		"docs/more.txt":      "",
		"Makefile":           "test: build\n\t@sh tools/lib.sh\n\tpython3 -m pytest\nbuild:\n\t- ./deep\n",
		"main.py":            "print(1)\n",
		"sub/run.sh":         ". ./own.sh\n",
		"sub/own.sh":         "",
		"not-started/run.sh": "",
	}))
	for _, c := range []struct {
		command []string
		want    []string
	}{
		{[]string{"./check.sh"}, []string{"check.sh", "deep", "main.py", "tools/common.sh", "tools/count", "tools/lib.sh", "tools/sums.py"}},
		{[]string{"sh", "-e", "tools/lib.sh", "docs/sums.txt"}, []string{"main.py", "tools/lib.sh"}},
		{[]string{"bash", "-c", "tools/count && cat docs/sums.txt"}, []string{"tools/count"}},
		{[]string{"make", "test"}, []string{"Makefile", "deep", "main.py", "tools/lib.sh"}},
		{[]string{"sh", "-c", "make test"}, []string{"Makefile", "deep", "main.py", "tools/lib.sh"}},
		{[]string{"python3", "main.py", "--selftest"}, []string{"main.py"}},
		{[]string{"sh", "sub/run.sh"}, []string{"sub/own.sh", "sub/run.sh"}},
		{[]string{"cargo", "test"}, nil},
	} {
		got := Started(v, c.command)
		if slices.Sort(got); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.command, got, c.want)
		}
	}
}
