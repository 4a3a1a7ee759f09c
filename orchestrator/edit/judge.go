package edit

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/guard"
	"agent/orchestrator/edit/lex"
	"agent/orchestrator/edit/parse"
	"agent/orchestrator/edit/problem"
)

// judge guards the result of a response for one file by the rules of its language. It restores imports that are still used, and
// records a problem if the result no longer parses or lost a definition that it uses.
//
// A unified diff spells out each removed line, including imports and definitions, so for a diff only the parser counts. In Go a
// definition may have moved to another file of the package, so definitions are only judged if the response is about one file.
func (p *planner) judge(s *fileState, ops []*parse.Operation, text []byte, applied []Applied) []byte {
	after, diff := string(text), slices.ContainsFunc(ops, func(op *parse.Operation) bool { return op.Hunk != nil })
	d := document.New(s.path, s.before)
	if !diff {
		var kept []string
		after, kept = guard.KeepImports(s.path, string(s.before), after)
		for i := range applied {
			if applied[i].Block == blockThatDropped(ops, kept) {
				applied[i].Kept = kept
			}
		}
	}
	bad := guard.CheckSyntax(d, ops, after)
	if bad == nil {
		bad = guard.CheckInterpreter(d, ops, after)
	}
	if after == string(s.before) && after != string(text) {
		bad = &problem.Problem{
			Block: ops[0].Block, Path: s.path, Kind: problem.KindNoop, Reason: "it only drops imports that the file still uses, and they stay",
			Advice: "leave the block out, or change what uses the imports too",
		}
	}
	if moved := strings.HasSuffix(s.path, ".go") && len(p.states) > 1; bad == nil && !diff && !moved {
		bad = guard.CheckDefinitions(d, ops, after, s.whole != nil, p.elsewhere(s))
	}
	if bad != nil {
		p.problems = append(p.problems, *bad)
	}
	return []byte(after)
}

// elsewhere returns a func that reports whether another file of the Go package of s declares a name; nil for a file of another
// language.
//
// A test file declares nothing for a file that is built without tests.
func (p *planner) elsewhere(s *fileState) func(name string) bool {
	if !strings.HasSuffix(s.path, ".go") {
		return nil
	}
	test := strings.HasSuffix(s.path, "_test.go")
	return func(name string) bool {
		pkg := guard.GoPackage(string(s.before))
		for _, f := range p.files.Paths() {
			if f == s.path || path.Dir(f) != path.Dir(s.path) || !strings.HasSuffix(f, ".go") || !test && strings.HasSuffix(f, "_test.go") {
				continue
			}
			text, err := p.files.Read(f)
			if p.work.Add(len(text)); p.work.Spent() {
				return false
			}
			if err == nil && guard.GoDeclares(f, string(text), pkg, name) {
				return true
			}
		}
		return false
	}
}

// blockThatDropped returns the block whose SEARCH names the first of the kept imports, or else the first block. It returns 0 if no
// import was kept.
func blockThatDropped(ops []*parse.Operation, kept []string) int {
	if len(kept) == 0 {
		return 0
	}
	for _, op := range ops {
		if slices.ContainsFunc(op.Search, func(s string) bool { return strings.Contains(s, kept[0]) }) {
			return op.Block
		}
	}
	return ops[0].Block
}

// placeholderReason says why content with such a line is refused.
func placeholderReason(line string) string {
	return fmt.Sprintf("the content holds the placeholder %s instead of the code it stands for", problem.Quote(line))
}

// promised returns the first line of whole content that promises code instead of giving it. A new file removes no lines, so dots in
// it may be text.
func promised(s *fileState, op *parse.Operation) (string, bool) {
	switch op.Kind {
	case parse.OpDelete:
		return "", false
	case parse.OpCreate:
		return guard.PromisedContent(s.path, op.Text)
	}
	line, ok := lex.Promised(lex.LanguageOf(s.path), parse.SplitBody(op.Text), nil)
	return line, ok && !strings.Contains(string(s.before), line)
}
