package witness

import (
	crand "crypto/rand"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"agent/sandbox/workspace/lazyregexp"
)

// A Draw is the random source for one run. Nothing that it draws is predictable.
type Draw struct {
	*rand.Rand
	taken map[string]bool
	used  map[string]bool // forms of assertion, by text, that have witnesses in this run
}

// NewDraw returns a Draw with a random seed.
func NewDraw() *Draw {
	var seed [32]byte
	crand.Read(seed[:]) //nolint:errcheck // it never fails: see its documentation
	return &Draw{rand.New(rand.NewChaCha8(seed)), map[string]bool{}, map[string]bool{}}
}

// Some draws at most n of the files with tests. It takes those that first selects before all others. It picks half of
// the rest by their names alone, so that runs on both sides of a patch share them, and the remainder at random.
func (d *Draw) Some(files []string, first func(p string) bool, n int) []string {
	list := slices.Clone(files)
	d.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	rank := func(p string) int {
		if first(p) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(list, func(a, b string) int { return rank(a) - rank(b) })
	asked := 0
	for asked < len(list) && first(list[asked]) {
		asked++
	}
	rest := list[asked:]
	shared := slices.Clone(rest)
	slices.SortFunc(shared, func(a, b string) int { return int(digest(a)>>33) - int(digest(b)>>33) })
	half := max(0, n-asked) / 2
	picked := append(slices.Clone(list[:min(asked, n)]), shared[:min(half, len(shared))]...)
	for _, p := range rest {
		if len(picked) < n && !slices.Contains(picked, p) {
			picked = append(picked, p)
		}
	}
	slices.Sort(picked)
	return picked
}

func digest(p string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(p))
	return h.Sum64()
}

// A Style is how a test's name is composed of words: a prefix, and what separates two words. Capital begins each word
// with a capital letter.
type Style struct {
	Prefix, Joint string
	Capital       bool
}

// words are what names are composed of besides the words of the surrounding tests.
var words = strings.Fields(`accepts adds after again all allows before behaves between bigger bounds builds calls case changes checks combines
	compares copies counts default defines different drops each edges empties empty ends equal every exact exists expected extends fields
	filters finds first follows given groups handles holds ignores inner input inside items joins keeps keys large last leaves length limits lists
	long maps matches merges missing mixed multiple names nested next none numbers odd only orders other outer output pairs parses parts plain
	position previous raises range reads refuses rejects removes repeats replaces resets resolves result returns round rows sample scales second
	sequence sets several shares short simple single size skips small sorts splits stable starts steps stores strips sums swaps third three total
	trims twice two types unique unknown updates usual valid values while whole with within without works wraps writes wrong zero`)

// word matches the words in a name of any style.
var word = lazyregexp.New(`[A-Z]?[a-z]{2,}`)

// within reports whether one name is contained in another.
func within(name string, others map[string]bool) bool {
	for other := range others {
		if strings.Contains(other, name) || strings.Contains(name, other) {
			return true
		}
	}
	return false
}

// Name draws a name that no existing test has, mostly from their words.
func (d *Draw) Name(style Style, existing []string) string {
	var near []string
	for _, name := range existing {
		for _, w := range word.FindAllString(strings.TrimPrefix(name, style.Prefix), -1) {
			// A capitalized two-letter word would not be recognized, and a result is recognized by the words of its name.
			if len(w) > 2 {
				near = append(near, strings.ToLower(w))
			}
		}
	}
	for length := 3; ; length++ {
		var parts []string
		for n := length + d.IntN(2); len(parts) < n; {
			from := words
			// At least one word is not from the tests: a file unknown here may have a test with that name.
			if len(near) > 0 && len(parts) > 0 && d.IntN(3) > 0 {
				from = near
			}
			if w := from[d.IntN(len(from))]; !slices.Contains(parts, w) {
				parts = append(parts, w)
			}
		}
		d.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		said := strings.Join(parts, " ")
		// A name that is contained in another would be mistaken for it.
		if !within(said, d.taken) && !slices.ContainsFunc(existing, func(name string) bool { return strings.Contains(strings.Join(split(name), " "), said) }) {
			d.taken[said] = true
			return style.join(parts)
		}
	}
}

// join composes a name of words.
func (s Style) join(parts []string) string {
	for i, w := range parts {
		if s.Capital {
			parts[i] = string(unicode.ToUpper(rune(w[0]))) + w[1:]
		}
	}
	return s.Prefix + strings.Join(parts, s.Joint)
}

// A Form is one way in which tests of a runner assert.
type Form struct {
	// Uses matches the files in which tests use it; nil for all.
	Uses *lazyregexp.Regexp
	// Body has the lines of a test, without the indentation of its place. {var} is a variable's name and {start} its
	// value; {expr} is computed from it, and {want} is the value of {expr} or something similar.
	Body string
	// Turned says that it passes if {expr} is not {want}.
	Turned bool
	// Numeric says that {want} is always a whole number, as its assertion requires.
	Numeric bool
}

// Write draws the lines of a test that fails, or of one that passes. The two look alike.
func (d *Draw) Write(f Form, fails bool) string {
	right := fails == f.Turned
	name := d.pick("value", "total", "item", "count", "first", "seen", "part", "base")
	var start, expr, want string
	if f.Numeric || d.IntN(3) > 0 {
		a, b, c, m := 11+d.IntN(80), 3+d.IntN(40), 2+d.IntN(90), 50+d.IntN(900)
		is := (a*b + c) % m
		if !right {
			is += 1 + d.IntN(9)
		}
		start, want = strconv.Itoa(a), strconv.Itoa(is)
		expr = "(" + name + " * " + strconv.Itoa(b) + " + " + strconv.Itoa(c) + ") % " + strconv.Itoa(m)
	} else {
		a, b := d.pick(words...), d.pick(words...)
		is := a + "-" + b
		if !right {
			is = a + "-" + b + b[len(b)-1:]
		}
		start, want, expr = strconv.Quote(a), strconv.Quote(is), name+` + "-`+b+`"`
	}
	return strings.NewReplacer("{var}", name, "{start}", start, "{expr}", expr, "{want}", want).Replace(f.Body)
}

func (d *Draw) pick(from ...string) string { return from[d.IntN(len(from))] }

// Used draws at most n of the forms that a text uses. The first forms of a table are the most common and are always
// kept.
func (d *Draw) Used(forms []Form, text string, n int) (used []Form) {
	for _, f := range forms {
		if f.Uses == nil || f.Uses.MatchString(text) {
			used = append(used, f)
		}
	}
	if len(used) <= n {
		return used
	}
	rest := used[n/2:]
	d.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	return used[:n]
}
