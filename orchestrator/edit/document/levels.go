package document

import (
	"strings"

	"agent/orchestrator/edit/lex"
)

// Indented reports whether some line of the file is indented by exactly x.
//
// It tells a file's own mixture of tabs and spaces, such as the space before the asterisks of a comment, from one that the block
// would bring in. Lines that hold only space have no indentation.
func (d *Document) Indented(x string) bool {
	for at := 0; !d.Work.Spent(); {
		i := strings.Index(d.Plain()[at:], "\n"+x)
		if i < 0 {
			d.Work.Add(len(d.Text) - at)
			return false
		}
		d.Work.Add(i)
		if at += i + 1 + len(x); at < len(d.Plain()) && strings.IndexByte(" \t\n", d.Plain()[at]) < 0 {
			return true
		}
	}
	return false
}

// Levels returns the result of levels for the lines of the file, which it reads once.
func (d *Document) Levels(c byte) []int {
	if d.steps[c] == nil {
		d.Work.Add(workDepth * d.Len())
		lines := make([]string, d.Len())
		for i := range lines {
			lines[i] = d.Line(i)
		}
		if d.steps == nil {
			d.steps = map[byte][]int{}
		}
		d.steps[c] = levels(lines, c)
	}
	return d.steps[c]
}

// levels returns candidates for the width of a level in lines: the greatest common divisor of all their depths, and the most
// frequent increase in depth from one line to the next.
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
	return []int{LevelOf(lines, c), best}
}

// LevelOf returns the width of one level in lines: the greatest common divisor of all their indentations.
//
// Two-space levels at depths 2, 4 and 8 share 2. It is only needed if no matched line has an indentation that shows the width.
func LevelOf(lines []string, c byte) int {
	g := 0
	for _, s := range lines {
		if x := lex.Indent(s); !lex.Blank(s) && lex.Only(x, c) {
			g = GCD(len(x), g)
		}
	}
	return g
}

// GCD returns the greatest common divisor, or the other number if one is 0.
func GCD(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// IndentChar returns the character that more lines of the file begin with, tab or space; ' ' if neither prevails.
func (d *Document) IndentChar() byte {
	if d.indentBy == 0 {
		d.indentBy = ' '
		if strings.Count(d.Plain(), "\n\t") > strings.Count(d.Plain(), "\n ") {
			d.indentBy = '\t'
		}
	}
	return d.indentBy
}
