package retrieve

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"agent/sandbox/workspace/lazyregexp"
)

// Bounds on what is read of a goal, in bytes and in terms. A longer goal is a document, whose first part says what it
// is about.
const (
	maxGoal  = 16 << 10
	maxTerms = 64
)

// stop holds the words of goals that point to no place in a program.
const stop = `a about add added after all also always an and any are as at avoid be because been before being bug by call can
change changed code correct correctly could do does doing done don ensure error errors every file files fix for from get give
given goal has have having how if implement in instead into is issue it its just like make makes may more must need needs never
new no not now of on one only onto or other our please program repo repository right should show so some something such support
than that the their them then there these they this those to too update us use used uses using value want was way we well were
what when where which while who will with work works would wrong you`

// ignored returns the stop words in the form that split gives them.
var ignored = sync.OnceValue(func() map[string]bool {
	words := map[string]bool{}
	for _, w := range strings.Fields(stop) {
		words[stem(w)] = true
	}
	return words
})

// split yields the words of a name or a text, in lower case and without common endings: "priceTable", "price_tables"
// and "Price table" all give "price" and "table".
func split(text string, yield func(string)) {
	from, last := -1, rune(0)
	for i, r := range text {
		letter := unicode.IsLetter(r) || unicode.IsDigit(r)
		// A word ends where its letters end, before a capital after a small letter, and before the last of several
		// capitals if a small letter follows it: "HTTPServer" is "http" and "server".
		switch {
		case from < 0 && letter:
			from = i
		case from >= 0 && !letter:
			yield(stem(strings.ToLower(text[from:i])))
			from = -1
		case from >= 0 && unicode.IsUpper(r) && !unicode.IsUpper(last):
			yield(stem(strings.ToLower(text[from:i])))
			from = i
		case from >= 0 && unicode.IsLower(r) && unicode.IsUpper(last) && i-from > 1:
			cut := i - utf8.RuneLen(last)
			yield(stem(strings.ToLower(text[from:cut])))
			from = cut
		}
		last = r
	}
	if from >= 0 {
		yield(stem(strings.ToLower(text[from:])))
	}
}

// endings are the endings in which words of one meaning differ between goals and names, the longest first.
var endings = []string{"ations", "ation", "ings", "ing", "ies", "ers", "ed", "er", "es", "s", "y", "e"}

// stem returns a word without a common ending. It leaves at least three letters.
func stem(word string) string {
	for _, e := range endings {
		if rest, ok := strings.CutSuffix(word, e); ok && len(rest) >= 3 {
			if n := len(rest); n > 3 && rest[n-1] == rest[n-2] && len(e) > 1 {
				rest = rest[:n-1] // "stopping"
			}
			return rest
		}
	}
	return word
}

var (
	// codeWord matches an identifier of a program: "price_table", "priceTable", "Cart.total", "total()".
	codeWord = lazyregexp.New(`[A-Za-z_$][\w$]*(?:(?:\.|::|#)[A-Za-z_$][\w$]*)*(?:\(\))?`)
	quoted   = lazyregexp.New("`([^`\n]{2,80})`|\"([^\"\n]{2,80})\"")
	inner    = lazyregexp.New(`[a-z0-9][A-Z]|_|\.|::|#|\(\)$`)
)

// names lists the identifiers that a goal states as such: words that look like code, and text in quotation marks. Both
// parts of "Cart.total" are names.
func names(goal string) map[string]bool {
	found := map[string]bool{}
	note := func(word string) {
		for _, part := range strings.FieldsFunc(strings.TrimSuffix(word, "()"), func(r rune) bool { return r == '.' || r == ':' || r == '#' }) {
			if len(part) > 1 && len(found) < maxTerms {
				found[part] = true
			}
		}
	}
	for _, w := range codeWord.FindAllString(goal, -1) {
		if w = strings.TrimRight(w, "."); inner.MatchString(w) {
			note(w)
		}
	}
	for _, m := range quoted.FindAllStringSubmatch(goal, -1) {
		if w := m[1] + m[2]; codeWord.FindString(w) == w {
			note(w)
		}
	}
	return found
}
