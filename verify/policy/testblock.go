package policy

import (
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/policy/testform"
)

// A block is a function in a test file, or a call that takes one.
type block struct {
	file sourceFile
	// The full name, with the names of the enclosing blocks, and the block's own name alone.
	name, short string
	test        bool
	from        int   // its first line, from 0
	own         []int // its lines, without those of nested functions
	// The nesting depth: in columns for Python, in brackets otherwise.
	depth int
	// The first few lines that contain code, nested functions included; enough to recognize an empty block.
	code []string
	// What it asserts itself, and everything else that it does.
	assertions []statement
	others     []statement
}

// A statement is one statement on a line of code, without surrounding space.
type statement struct {
	line int
	code string
}

// mostLines bounds the lines of code that a block keeps.
const mostLines = 4

var (
	pythonBlock = lazyregexp.New(`^\s*(?:async\s+)?(?:def|class)\s+(\w+)`)
	goBlock     = lazyregexp.New(`^func\s+(?:\([^)]*\)\s*)?(\w+)`)
	scriptTest  = lazyregexp.New(`(?:^|[^\w.$])(it|test|specify|describe|context|suite|xit|xtest|xdescribe|fit|fdescribe)(?:\.\w+)*\s*\(`)
	scriptBlock = lazyregexp.New(`^\s*(?:export\s+)?(?:async\s+)?(?:function\s*\*?\s*(\w+)|(?:const|let|var)\s+(\w+)\s*=\s*(?:async\s*)?(?:function\b|\([^)]*\)[^=]*=>|\w+\s*=>))`)
	scriptTitle = lazyregexp.New("(?:it|test|specify|describe|context|suite)(?:\\.\\w+)*\\s*\\(\\s*(?:'([^']*)'|\"([^\"]*)\"|`([^`]*)`)")
	goSubtest   = lazyregexp.New(`^Test(?:[^a-z]|$)`)
)

// blocksOf returns the functions of a file. It relies on indentation and brackets: if it mistakes the end of a
// function, at worst the function is compared with one that was mistaken in the same way.
func blocksOf(f sourceFile) (all []*block) {
	var open []*block
	depth := 0
	for i, line := range f.lines {
		code := strings.TrimSpace(line.Code)
		if code == "" {
			continue
		}
		if f.lang == lang.Python {
			// Inside a string, and before a closing bracket, indentation has no meaning.
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

// closed removes the innermost blocks that stand at depth or deeper, which have ended.
func closed(open []*block, depth int) []*block {
	for len(open) > 0 && open[len(open)-1].depth >= depth {
		open = open[:len(open)-1]
	}
	return open
}

// mostNested bounds the depth at which blocks are told apart, since names repeat the names of the enclosing blocks.
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

// titleOf returns the title of a test, a string on its line or the next, or else the text of the line.
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

// record adds a line to the blocks that contain it: as text to all of them, and as statements to the innermost test,
// or to the innermost function if there is no test.
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
	// The line that opens a test may contain all of it.
	for part := range strings.SplitSeq(code, ";") {
		part = strings.TrimSpace(part)
		if testform.Of(f.lang).Assertion.MatchString(part) {
			owner.assertions = append(owner.assertions, statement{i, part})
		} else if part != "" {
			owner.others = append(owner.others, statement{i, part})
		}
	}
}

// asserting matches the words with which the names of a project's own assertions begin.
var asserting = lazyregexp.New(`\b_?(?i:assert|check|expect|verify|require|ensure|must|should|validate)\w*\s*\(`)

// goHelper matches a call that receives the test and so can make it fail.
var goHelper = lazyregexp.New(`\b\w+\(t\b`)

// calls matches the names of the functions that a statement calls.
var calls = lazyregexp.New(`(\w+)\s*\(`)

// callsHelper reports whether a test calls a function that asserts something, in a statement that it did not have
// before. The functions in helpers are judged by their content, others by their name.
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

// trivial reports whether an assertion only checks for an unexpected error. It goes away with the error when a
// function no longer returns one.
func (a statement) trivial(family lang.Family) bool {
	words := wordsOf(a.code)
	return family == lang.Go && len(words) == 1 && words[0] == "err"
}

// anyWord matches a word.
var anyWord = lazyregexp.New(`[A-Za-z_]\w*`)

// assertionWords matches the words that assertions are made of, as opposed to what they are about.
var assertionWords = lazyregexp.New(`^(?:assert\w*|expect|self|t|b|is|qt|require|not|in|and|or|None|True|False|true|false|null|nil|undefined|pytest|raises|with|as|if|to[A-Z]\w*|be|resolves|rejects|await|Error|Errorf|Fatal|Fatalf|Fail|FailNow|Equal|NoError|Nil|NotNil|len|equal|strictEqual|deepEqual|ok)$`)

// wordsOf returns the names that a line of code refers to.
func wordsOf(code string) (list []string) {
	for _, w := range anyWord.FindAllString(code, -1) {
		if !assertionWords.MatchString(w) {
			list = append(list, w)
		}
	}
	return list
}
