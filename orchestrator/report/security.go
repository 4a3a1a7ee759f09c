package report

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"agent/sandbox/workspace/lazyregexp"
)

// securitySecrets falls with each credential in a file that is not a test, an example or a document: in those,
// credentials are usually invented, and are only noted.
func securitySecrets(f *Facts) value {
	var details []Detail
	n := 0
	for _, e := range f.Files {
		for _, s := range e.Secrets {
			d := Detail{Status: Fail, File: e.Path, Line: s.Line, Message: "it looks like " + s.Rule, Next: "revoke it at its issuer, then remove it; it stays in the repository's history"}
			if vendored(e.Path) {
				continue
			}
			if aside(e.Path) || e.Test || prose(e.Path) || sample.MatchString(e.Path) {
				d.Status, d.Message, d.Next = Note, d.Message+", in a file of tests, examples or documents", "make sure that it is made up"
			} else {
				n++
			}
			details = append(details, d)
		}
	}
	return value{score: falling(n), details: details}
}

// sample matches names of files that show what other files look like.
var sample = lazyregexp.New(`(?i)(?:^|[./_-])(?:example|sample|template|dist|mock|fake|dummy|fixture|test)s?(?:[./_-]|$)`)

// securityFiles falls with each file that git tracks although it is named like a secret.
func securityFiles(f *Facts) value {
	var details []Detail
	n := 0
	for _, p := range f.Tracked {
		d := Detail{Status: Fail, File: p, Message: "git tracks a file named like a secret", Next: "git rm --cached it, add it to .gitignore, and revoke what it holds"}
		if aside(p) || sample.MatchString(p) {
			d.Status, d.Next = Note, "make sure that it is made up"
		} else {
			n++
		}
		details = append(details, d)
	}
	return value{score: falling(n), idle: !f.Repository, details: details}
}

// fromStrangers matches where a workflow puts into a script what the author of an issue or a pull request writes.
// (securitylab.github.com/resources/github-actions-untrusted-input)
var fromStrangers = lazyregexp.New(`\$\{\{\s*(?:github\.event\.(?:issue\.(?:title|body)|pull_request\.(?:title|body|head\.ref|head\.label)|comment\.body|review\.body|review_comment\.body|discussion\.(?:title|body)|head_commit\.message|head_commit\.author\.(?:name|email))|github\.head_ref)\s*\}\}`)

// securityWorkflows is the mean over the workflows; each falls with every place at which a stranger's text or code runs
// with the rights of the repository.
func securityWorkflows(f *Facts) value {
	var details []Detail
	var m mean
	for _, p := range f.ci() {
		if !workflow(p) {
			continue
		}
		root, err := readYAML(f.Text[p])
		if err != nil {
			m.add(0)
			continue
		}
		before := len(details)
		target := strings.Contains(f.Text[p], "pull_request_target") && onTarget(root)
		each(root, func(key string, n *yaml.Node) {
			switch {
			case key == "run" && fromStrangers.MatchString(n.Value):
				details = append(details, Detail{
					Status: Warn, File: p, Line: n.Line, Message: "a script contains text that strangers write: " + fromStrangers.FindString(n.Value),
					Next: "pass it to the script in an environment variable",
				})
			case key == "ref" && target && (strings.Contains(n.Value, "pull_request.head") || strings.Contains(n.Value, "github.head_ref")):
				details = append(details, Detail{
					Status: Fail, File: p, Line: n.Line, Message: "pull_request_target checks out the code of strangers, with the rights and secrets of the repository",
					Next: "use pull_request, or run nothing from the checkout",
				})
			}
		})
		m.add(falling(len(details) - before))
	}
	return m.value(details)
}

// onTarget reports whether a workflow runs on pull_request_target.
func onTarget(root *yaml.Node) bool {
	on := field(root, "on")
	found := field(on, "pull_request_target") != nil
	if on != nil {
		each(on, func(_ string, n *yaml.Node) { found = found || n.Value == "pull_request_target" })
	}
	return found
}

// securityPolicy is 1 if the project says how to report a vulnerability.
func securityPolicy(f *Facts) value {
	for p := range f.Text {
		if rootFile(p) && stemOf(p) == "security" {
			return value{score: 1}
		}
	}
	return lacks(Detail{Status: Note, Message: "nothing says how a vulnerability is reported", Next: "write SECURITY.md with an address"})
}
