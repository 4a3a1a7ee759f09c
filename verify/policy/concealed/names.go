package concealed

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
	"golang.org/x/text/unicode/norm"
)

// The letters of other scripts that look like letters of ASCII, each with the one that it looks like, as confusables.txt of Unicode
// Technical Standard #39 has them (https://www.unicode.org/Public/security/latest/confusables.txt).
var (
	// Those that nobody writes beside Latin letters in one word.
	alike = pairs(`аaАAВBсcСCԁdеeҽeЕEԌGһhНHіiꙇiӏiјjЈJКKІlӀlМMоoОOрpРPԛqгrѕsЅSТTѵvѴVѡwԝwԜWхxХXуyүyУYҮY` + // Cyrillic
		`ΑAΒBϲcϹCΕEϜFΗHϳjͿJΚKΙlΜMϺMΝNοoΟOΡPΤTΧXΥYΖZ` + // Greek
		`քfցgհhոnռnօoՕOգqզqՏSսuՍUաw` + // Armenian
		`ⲥcⲤCⲎHⲔKⲒlⲘMⲚNⲟoⲞOⲣpⲢPⲅrⲦTⲬXⲨY` + // Coptic
		`ᎪAᏏbᏴBꮯcᏟCᏧdᎠDᎬEᏀGᏳGᏂhᎻHꭵiᎥiᎫJᏦKᏞLᎷMᏢPꮁrᎡRᏒRꮪsᏕSᏚSᎢTꮩvᏙVꮃwᎳWᏔWᎩYᎽYꮓzᏃZ` + // Cherokee
		`ꓮAꓐBꓚCꓒdꓓDꓰEꓝFꓖGꓧHꓙJꓗKꓲlꓡLꓟMꓠNꓳOꓑPꓣRꓢSꓔTꓴUꓦVꓪWꓫXꓬYꓜZ` + // Lisu
		`ⴹEⵏlⵔOⵕQⴸVⵝXჿoყy`) // Tifinagh and Georgian
	// Those that have a use beside them: Greek ones in mathematics, and ones of phonetics. Another name has to look the same.
	useful = pairs(`αaιiσoρpϱpυuνvγyɑaɡgᴄcɩiɪiᴏoꜱsᴜuᴠvᴡwʏyᴢzꭎuꭒu`)
)

// pairs makes a table of letters that stand in pairs.
func pairs(text string) map[rune]rune {
	table, runes := map[rune]rune{}, []rune(text)
	for i := 0; i+1 < len(runes); i += 2 {
		table[runes[i]] = runes[i+1]
	}
	return table
}

var (
	// nameInCode matches a name, whatever its letters, and letterRun what of it stands together.
	nameInCode = lazyregexp.New(`[\pL_$][\pL\pM\pN_$]*`)
	letterRun  = lazyregexp.New(`[\pL\pM]+`)
)

// Names lists the lines of a source file after a change that hold a name which reads as another to a person, but for lines of before:
// one that the language reads otherwise than it is written, and one of letters of several scripts that look like those of one. Names of one
// script, words of several that stand apart, and letters of mathematics are what people write. Of a file that is no code it lists nothing.
func Names(path, before, after string) (found []Line) {
	l := lang.Detect(path, after)
	if !IsCode(path, after) || l.Family == lang.Markup || l.Family == lang.CSS || !odd(after) {
		return nil
	}
	known := map[string]bool{}
	for _, line := range l.Lex(before) {
		known[strings.TrimSpace(line.Raw)] = true
	}
	lines := l.Lex(after)
	read := lang.AsRead(l.Family, lines)
	var plain map[string]bool // made when a name needs it
	for i, line := range lines {
		if known[strings.TrimSpace(line.Raw)] || !odd(line.Code) {
			continue
		}
		what := respelled(l.Family, line.Code)
		for _, name := range nameInCode.FindAllString(read[i].Code, -1) {
			if what == "" && !ascii(name) {
				if plain == nil {
					plain = skeletons(read)
				}
				what = mixed(name, plain)
			}
		}
		if what != "" {
			if found = append(found, Line{i + 1, what}); len(found) == mostLines {
				break
			}
		}
	}
	return found
}

// odd reports whether a text may hold a name of more than plain letters, and ascii whether it holds nothing else.
func odd(text string) bool { return !ascii(text) || strings.Contains(text, `\u`) }

func ascii(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// shortest is how many letters have to stand together for them to be a word rather than a sign.
const shortest = 3

// respelled says of code that it spells a name in other characters than its language reads, where what is read is plain. An index
// (xᵢ) and a single letter of mathematics (ℓ, 𝒟_train) are how people write.
func respelled(family lang.Family, code string) string {
	for _, s := range lang.Respelled(family, code) {
		if !ascii(s.Read) {
			continue
		}
		for _, run := range letterRun.FindAllString(s.Written, -1) {
			word := strings.Map(func(r rune) rune {
				if unicode.Is(unicode.Lm, r) {
					return -1
				}
				return r
			}, run)
			if strings.Contains(s.Written, `\`) || !ascii(word) && len(norm.NFKC.String(word)) >= shortest {
				return fmt.Sprintf("spells a name in characters that the language reads as %q", clip(s.Read))
			}
		}
	}
	return ""
}

// mixed says of a name in letters of several scripts that it looks like one of plain letters; plain holds how those of the file look.
func mixed(name string, plain map[string]bool) string {
	letters := 0
	for _, run := range letterRun.FindAllString(name, -1) {
		letters += utf8.RuneCountInString(run)
		latin, other, all := false, false, true
		for _, r := range run {
			latin = latin || r < utf8.RuneSelf
			other = other || alike[r] != 0
			all = all && look(r) < utf8.RuneSelf
		}
		if latin && other && all {
			return fmt.Sprintf("holds a name in letters of several scripts that looks like %q", clip(strings.Map(look, name)))
		}
	}
	if letters >= shortest && looksLatin(name) && plain[skeleton(name)] {
		return fmt.Sprintf("holds a name that looks like another one of the file, %q, and is none of its letters", clip(strings.Map(look, name)))
	}
	return ""
}

// looksLatin reports whether each letter of a name is one of ASCII or looks like one. A letter that has a use beside them looks like one in a
// word of Latin letters alone.
func looksLatin(name string) bool {
	runs := letterRun.FindAllString(name, -1)
	return len(runs) > 0 && !slices.ContainsFunc(runs, func(run string) bool {
		signs, latin := 0, 0
		for _, r := range run {
			switch {
			case r < utf8.RuneSelf:
				latin++
			case alike[r] != 0:
			case look(r) < utf8.RuneSelf:
				signs++
			default:
				return true
			}
		}
		return signs > 0 && (latin == 0 || utf8.RuneCountInString(run) < shortest)
	})
}

// look is the plain letter that a character looks like, or of which it is another form (ｅ, 𝐞); else the character itself.
func look(r rune) rune {
	switch {
	case r < utf8.RuneSelf:
		return r
	case alike[r] != 0:
		return alike[r]
	case useful[r] != 0:
		return useful[r]
	}
	if form := norm.NFKC.String(string(r)); len(form) == 1 {
		return rune(form[0])
	}
	return r
}

// skeleton is how a name looks: two of one skeleton are told apart by nobody.
func skeleton(name string) string {
	return strings.NewReplacer("I", "l", "1", "l", "0", "O").Replace(strings.Map(look, name))
}

// skeletons is how the plain names in lines look.
func skeletons(lines []lang.Line) map[string]bool {
	looks := map[string]bool{}
	for _, line := range lines {
		for _, name := range nameInCode.FindAllString(line.Code, -1) {
			if ascii(name) {
				looks[skeleton(name)] = true
			}
		}
	}
	return looks
}

// mostShown bounds what is shown of a name, in bytes.
const mostShown = 40

func clip(name string) string { return strings.ToValidUTF8(name[:min(len(name), mostShown)], "") }
