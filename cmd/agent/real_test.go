package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"agent/images/dependencies"
)

// A realCommit is a row of testdata/real.tsv: a commit of a public repository that its maintainers and its CI accepted.
type realCommit struct {
	language, repository, commit string
	// The expected results of the commit, and of its program reversed with its tests kept; why explains them where they
	// are not pass and refused.
	forward, reversed, why string
}

// recordedCommits is the table of commits that the bench judges unless another is named.
const recordedCommits = "testdata/real.tsv"

// realCommits reads a table of commits, and the Debian packages that each repository's tests need.
func realCommits(t *testing.T, table string) (list []realCommit, packages map[string][]string) {
	t.Helper()
	data, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	packages = map[string][]string{}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		f := strings.Split(line, "\t")
		switch {
		case strings.HasPrefix(line, "#"):
		case f[0] == "packages" && len(f) == 3:
			packages[f[1]] = strings.Fields(f[2])
		case len(f) == 6:
			list = append(list, realCommit{f[0], f[1], f[2], f[3], f[4], f[5]})
		default:
			t.Fatalf("%s: %q is no row of six fields, nor one of packages", table, line)
		}
	}
	return list, packages
}

// The bench of real commits takes hours, so this test checks without it that its list is complete.
func TestRealCommitsAreWellFormed(t *testing.T) {
	t.Parallel()
	name, commit := regexp.MustCompile(`^[\w.-]+/[\w.-]+$`), regexp.MustCompile(`^[0-9a-f]{40}$`)
	results := []string{"pass", "held", "refused", "unproven", "infra", "none"}
	seen, repositories := map[string]bool{}, map[string]map[string]int{}
	list, packages := realCommits(t, recordedCommits)
	for _, c := range list {
		if !name.MatchString(c.repository) || !commit.MatchString(c.commit) || seen[c.commit] {
			t.Errorf("%+v: no repository and commit, or twice", c)
		}
		if !slices.Contains(results, c.forward) || !slices.Contains(results, c.reversed) {
			t.Errorf("%+v: the results are %v", c, results)
		}
		if (c.forward != "pass" || c.reversed != "refused") == (c.why == "") {
			t.Errorf("%+v: what is not pass and refused has a reason, and nothing else", c)
		}
		if seen[c.commit] = true; repositories[c.language] == nil {
			repositories[c.language] = map[string]int{}
		}
		repositories[c.language][c.repository]++
	}
	for repository, names := range packages {
		if err := dependencies.CheckDebian(names); err != nil || repositories["Python"][repository] == 0 {
			t.Errorf("packages of %s: %v, %v", repository, names, err)
		}
	}
	for _, language := range []string{"Python", "JavaScript", "Go"} {
		if n := len(repositories[language]); n != 10 {
			t.Errorf("%d repositories of %s, want 10", n, language)
		}
		for repository, n := range repositories[language] {
			if n != 10 {
				t.Errorf("%d commits of %s, want 10", n, repository)
			}
		}
	}
}
