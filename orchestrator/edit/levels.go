package edit

import (
	"strings"

	"agent/orchestrator/edit/lex"
)

// indented reports whether some line of the file is indented by just x.
//
// It tells a file's own mixture of tabs and spaces, such as the space before
// the asterisks of a comment, from one that the block would bring in. Lines
// of space alone have no indentation.
func (d *document) indented(x string) bool {
	for at := 0; !d.work.spent(); {
		i := strings.Index(d.plain()[at:], "\n"+x)
		if i < 0 {
			d.work.add(len(d.text) - at)
			return false
		}
		d.work.add(i)
		if at += i + 1 + len(x); at < len(d.plain()) && strings.IndexByte(" \t\n", d.plain()[at]) < 0 {
			return true
		}
	}
	return false
}

// levels returns the same for the lines of the file, reading them once.
func (d *document) levels(c byte) []int {
	if d.steps[c] == nil {
		d.work.add(workDepth * d.len())
		lines := make([]string, d.len())
		for i := range lines {
			lines[i] = d.line(i)
		}
		if d.steps == nil {
			d.steps = map[byte][]int{}
		}
		d.steps[c] = levels(lines, c)
	}
	return d.steps[c]
}

// levels returns what the width of a level may be in lines: what all their
// depths share, and by how much a line is mostly deeper than the one before.
func levels(lines []string, c byte) []int {
	count, last, best := map[int]int{}, -1, 0
	for _, s := range lines {
		if x := lex.Indent(s); !lex.Blank(s) && lex.Only(x, c) {
			if by := len(x) - last; last >= 0 && by > 0 {
				if count[by]++; count[by] > count[best] || count[by] == count[best] && by < best {
					best = by
				}
			}
			last = len(x)
		}
	}
	return []int{levelOf(lines, c), best}
}

// levelOf returns the width of one level in lines: what all their indentations share.
//
// Two-space levels at depths 2, 4 and 8 share 2. It is only asked when no
// matched line has an indentation that would tell.
func levelOf(lines []string, c byte) int {
	g := 0
	for _, s := range lines {
		if x := lex.Indent(s); !lex.Blank(s) && lex.Only(x, c) {
			g = gcd(len(x), g)
		}
	}
	return g
}

// gcd returns the greatest common divisor, the other number when one is 0.
func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// indentChar returns the character that more lines of the file begin with,
// ' ' when neither does.
func (d *document) indentChar() byte {
	if d.indentBy == 0 {
		d.indentBy = ' '
		if strings.Count(d.plain(), "\n\t") > strings.Count(d.plain(), "\n ") {
			d.indentBy = '\t'
		}
	}
	return d.indentBy
}
