package policy

import (
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/policy/testform"
)

// A block is a function of a file of tests, or a call that takes one.
type block struct {
	file sourceFile
	// The names of what it stands in and its own, and its own alone.
	name, short string
	test        bool
	from        int   // its first line, from 0
	own         []int // its lines that are of no function within it
	// How deep it stands: in columns for Python, else in brackets.
	depth int
	// Its lines that hold code, of nested functions too; no more than a few,
	// by which an empty one is known.
	code []string
	// What it asserts itself, and all else that it does.
	assertions []statement
	others     []statement
}

// A statement is one statement of a line of code, without space around it.
type statement struct {
	line int
	code string
}

// mostLines bounds the lines that a block keeps.
const mostLines = 4

var (
	pythonBlock = lazyregexp.New(`^\s*(?:async\s+)?(?:def|class)\s+(\w+)`)
	goBlock     = lazyregexp.New(`^func\s+(?:\([^)]*\)\s*)?(\w+)`)
	scriptTest  = lazyregexp.New(`(?:^|[^\w.$])(it|test|specify|describe|context|suite|xit|xtest|xdescribe|fit|fdescribe)(?:\.\w+)*\s*\(`)
	scriptBlock = lazyregexp.New(`^\s*(?:export\s+)?(?:async\s+)?(?:function\s*\*?\s*(\w+)|(?:const|let|var)\s+(\w+)\s*=\s*(?:async\s*)?(?:function\b|\([^)]*\)[^=]*=>|\w+\s*=>))`)
	scriptTitle = lazyregexp.New("(?:it|test|specify|describe|context|suite)(?:\\.\\w+)*\\s*\\(\\s*(?:'([^']*)'|\"([^\"]*)\"|`([^`]*)`)")
	goSubtest   = lazyregexp.New(`^Test(?:[^a-z]|$)`)
)

// blocksOf returns the functions of a file. It goes by indentation and by
// brackets: what it takes wrongly for the end of a function is at worst
// compared with its own like.
func blocksOf(f sourceFile) (all []*block) {
	var open []*block
	depth := 0
	for i, line := range f.lines {
		code := strings.TrimSpace(line.Code)
		if code == "" {
			continue
		}
		if f.lang == lang.Python {
			// Within a string, and before a closing bracket, indentation
			// means nothing.
			if !line.Inside && !strings.ContainsRune(")]}", rune(code[0])) {
				depth = lang.Indent(line.Code)
				open = closed(open, depth)
			}
		}
		b := opened(f, i, depth)
		if b != nil {
			b.name = b.short
			if n := len(open); n > 0 && n < mostNested {
				b.name = open[len(open)-1].name + "\x00" + b.short
			}
			all, open = append(all, b), append(open, b)
		}
		record(open, f, i, code)
		if f.lang != lang.Python {
			depth += strings.Count(code, "{") + strings.Count(code, "(") - strings.Count(code, "}") - strings.Count(code, ")")
			open = closed(open, depth)
		}
	}
	return all
}

// closed drops the blocks that do not reach deeper than depth.
func closed(open []*block, depth int) []*block {
	for len(open) > 0 && open[len(open)-1].depth >= depth {
		open = open[:len(open)-1]
	}
	return open
}

// mostNested bounds the depth of blocks that are told apart, as names repeat
// those of what is around them.
const mostNested = 20

// opened returns the block that a line opens, or nil.
func opened(f sourceFile, i, depth int) *block {
	line := f.lines[i]
	b := &block{file: f, from: i, depth: depth}
	switch f.lang {
	case lang.Python:
		if m := pythonBlock.FindStringSubmatch(line.Code); m != nil && !line.Inside {
			b.short, b.test = m[1], strings.HasPrefix(m[1], "test") && !strings.Contains(m[0], "class ")
			return b
		}
	case lang.Go:
		if m := goBlock.FindStringSubmatch(line.Code); m != nil {
			b.short, b.test = m[1], goSubtest.MatchString(m[1])
			return b
		}
	case lang.Script:
		if m := scriptTest.FindStringSubmatch(line.Code); m != nil {
			b.test = strings.HasSuffix(m[1], "it") && m[1] != "suit" || strings.HasSuffix(m[1], "test") || m[1] == "specify"
			b.short = titleOf(f, i)
			return b
		}
		if m := scriptBlock.FindStringSubmatch(line.Code); m != nil {
			b.short = m[1] + m[2]
			return b
		}
	}
	return nil
}

// titleOf returns the title of a test that is a string on its line or the next.
func titleOf(f sourceFile, i int) string {
	raw := f.lines[i].Raw
	if i+1 < len(f.lines) && strings.HasSuffix(strings.TrimSpace(raw), "(") {
		raw += strings.TrimSpace(f.lines[i+1].Raw)
	}
	if m := scriptTitle.FindStringSubmatch(raw); m != nil {
		return m[1] + m[2] + m[3]
	}
	return strings.TrimSpace(raw)
}

// record adds a line to the blocks that it stands in: as text to all, as a statement to the
// innermost test, or else the innermost function.
func record(open []*block, f sourceFile, i int, code string) {
	if len(open) == 0 {
		return
	}
	owner := open[len(open)-1]
	owner.own = append(owner.own, i)
	for k := len(open) - 1; k >= max(0, len(open)-mostNested); k-- {
		b := open[k]
		if len(b.code) < mostLines {
			b.code = append(b.code, code)
		}
		if b.test && !owner.test {
			owner = b
		}
	}
	// The line that opens a test may hold all of it.
	for part := range strings.SplitSeq(code, ";") {
		part = strings.TrimSpace(part)
		if testform.Of(f.lang).Assertion.MatchString(part) {
			owner.assertions = append(owner.assertions, statement{i, part})
		} else if part != "" {
			owner.others = append(owner.others, statement{i, part})
		}
	}
}

// asserting are the words that names of assertions of a project's own begin
// with.
var asserting = lazyregexp.New(`\b_?(?i:assert|check|expect|verify|require|ensure|must|should|validate)\w*\s*\(`)

// goHelper is a call that is given the test, and so can make it fail.
var goHelper = lazyregexp.New(`\b\w+\(t\b`)

// calls finds what a statement calls.
var calls = lazyregexp.New(`(\w+)\s*\(`)

// callsHelper reports whether a test calls a function that asserts something,
// and did not do so before. Those that are at hand are looked into, others
// known by their name.
func (b *block) callsHelper(before *block, helpers map[string]bool) bool {
	known := map[string]bool{}
	for _, s := range before.others {
		known[s.code] = true
	}
	for _, s := range b.others {
		code := s.code
		if known[code] {
			continue
		}
		byName := asserting.MatchString(code) || b.file.lang == lang.Go && goHelper.MatchString(code)
		for _, m := range calls.FindAllStringSubmatch(code, -1) {
			asserts, here := helpers[m[1]]
			if asserts {
				return true
			}
			if here {
				byName = false
			}
		}
		if byName {
			return true
		}
	}
	return false
}

// trivial reports whether an assertion is only about an error that was not
// expected: it goes with the error, when a function no longer returns one.
func (a statement) trivial(family lang.Family) bool {
	words := wordsOf(a.code)
	return family == lang.Go && len(words) == 1 && words[0] == "err"
}

// anyWord finds words.
var anyWord = lazyregexp.New(`[A-Za-z_]\w*`)

// assertionWords are what assertions are made of, in contrast to what they
// speak of.
var assertionWords = lazyregexp.New(`^(?:assert\w*|expect|self|t|b|is|qt|require|not|in|and|or|None|True|False|true|false|null|nil|undefined|pytest|raises|with|as|if|to[A-Z]\w*|be|resolves|rejects|await|Error|Errorf|Fatal|Fatalf|Fail|FailNow|Equal|NoError|Nil|NotNil|len|equal|strictEqual|deepEqual|ok)$`)

// wordsOf returns the names that a line of code speaks of.
func wordsOf(code string) (list []string) {
	for _, w := range anyWord.FindAllString(code, -1) {
		if !assertionWords.MatchString(w) {
			list = append(list, w)
		}
	}
	return list
}
