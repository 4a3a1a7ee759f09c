package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Measures of the picture, in pixels.
const (
	cellWidth  = 8.4
	lineHeight = 19
	fontSize   = 14
	padding    = 18
	titleBar   = 34
)

// The colours of the terminal: a dark ground, and the sixteen that programs name, in their order. Each has a contrast
// of at least 4.5 with the ground.
const (
	ground     = "#16181d"
	foreground = "#d7dae0"
	faint      = "#8b919d"
)

var sixteen = []string{
	"#8b919d", "#ff7b86", "#7fd88f", "#f0c674", "#82b7ff", "#d7a1f9", "#6fd3d6", "#d7dae0",
	"#a0a6b1", "#ff9aa2", "#9be8a8", "#ffd98a", "#a5ccff", "#e5bdff", "#93e6e8", "#ffffff",
}

// escapes matches the sequences that set how text looks.
var escapes = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// A look is how text is painted.
type look struct {
	color       string
	bold, faint bool
}

// apply changes the look by the numbers of one escape sequence.
func (l look) apply(numbers string) look {
	fields := strings.Split(numbers, ";")
	for i := 0; i < len(fields); i++ {
		n, _ := strconv.Atoi(fields[i]) // an empty number is 0
		switch {
		case n == 0:
			l = look{}
		case n == 1:
			l.bold = true
		case n == 2:
			l.faint = true
		case n == 22:
			l.bold, l.faint = false, false
		case n == 39:
			l.color = ""
		case n >= 30 && n <= 37:
			l.color = sixteen[n-30]
		case n >= 90 && n <= 97:
			l.color = sixteen[n-90+8]
		}
	}
	return l
}

// draw returns the picture of the text that a terminal received.
func draw(text string) []byte {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	height := titleBar + lineHeight*len(lines) + padding
	width := int(cellWidth*columns) + 2*padding
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">`+"\n", width, height, width, height)
	b.WriteString("<title>A patch that is applied, and one that is refused</title>\n")
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="8" fill="%s"/>`+"\n", width, height, ground)
	for i, color := range []string{sixteen[1], sixteen[3], sixteen[2]} {
		fmt.Fprintf(&b, `<circle cx="%d" cy="17" r="5.5" fill="%s"/>`+"\n", padding+6+18*i, color)
	}
	fmt.Fprintf(&b, `<g font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="%d" fill="%s" xml:space="preserve">`+"\n", fontSize, foreground)
	now := look{}
	for i, line := range lines {
		now = drawLine(&b, ansi.Truncate(line, columns, "…"), titleBar+lineHeight*(i+1)-5, now)
	}
	b.WriteString("</g>\n</svg>\n")
	return []byte(b.String())
}

// drawLine draws one line of text, and returns the look at its end.
func drawLine(b *strings.Builder, line string, y int, now look) look {
	column := 0
	for len(line) > 0 {
		at := escapes.FindStringSubmatchIndex(line)
		plain := line
		if at != nil {
			plain = line[:at[0]]
		}
		// Each word is placed on its own, so that every font keeps the columns.
		for _, word := range strings.SplitAfter(plain, " ") {
			if strings.TrimSpace(word) != "" {
				drawWord(b, strings.TrimRight(word, " "), column, y, now)
			}
			column += ansi.StringWidth(word)
		}
		if at == nil {
			break
		}
		now, line = now.apply(line[at[2]:at[3]]), line[at[1]:]
	}
	return now
}

// drawWord draws a word.
func drawWord(b *strings.Builder, word string, column, y int, l look) {
	style := ""
	if l.bold {
		style += ` font-weight="bold"`
	}
	color := l.color
	if color == "" && l.faint {
		color = faint
	}
	if color != "" {
		style += fmt.Sprintf(` fill="%s"`, color)
	}
	text := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(word)
	fmt.Fprintf(b, `<text x="%.1f" y="%d" textLength="%.1f"%s>%s</text>`+"\n", padding+cellWidth*float64(column), y, cellWidth*float64(ansi.StringWidth(word)), style, text)
}
