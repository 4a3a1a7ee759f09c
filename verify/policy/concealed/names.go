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

// Letters of other scripts that look like ASCII letters, each followed by the one that it looks like, as in
// confusables.txt of Unicode Technical Standard #39 (https://www.unicode.org/Public/security/latest/confusables.txt).
var (
	// Letters that do not occur next to Latin letters within a word.
	alike = pairs(`аaАAВBсcСCԁdеeҽeЕEԌGһhНHіiꙇiӏiјjЈJКKІlӀlМMоoОOрpРPԛqгrѕsЅSТTѵvѴVѡwԝwԜWхxХXуyүyУYҮY` + // Cyrillic
		`ΑAΒBϲcϹCΕEϜFΗHϳjͿJΚKΙlΜMϺMΝNοoΟOΡPΤTΧXΥYΖZ` + // Greek
		`քfցgհhոnռnօoՕOգqզqՏSսuՍUաw` + // Armenian
		`ⲥcⲤCⲎHⲔKⲒlⲘMⲚNⲟoⲞOⲣpⲢPⲅrⲦTⲬXⲨY` + // Coptic
		`ᎪAᏏbᏴBꮯcᏟCᏧdᎠDᎬEᏀGᏳGᏂhᎻHꭵiᎥiᎫJᏦKᏞLᎷMᏢPꮁrᎡRᏒRꮪsᏕSᏚSᎢTꮩvᏙVꮃwᎳWᏔWᎩYᎽYꮓzᏃZ` + // Cherokee
		`ꓮAꓐBꓚCꓒdꓓDꓰEꓝFꓖGꓧHꓙJꓗKꓲlꓡLꓟMꓠNꓳOꓑPꓣRꓢSꓔTꓴUꓦVꓪWꓫXꓬYꓜZ` + // Lisu
		`ⴹEⵏlⵔOⵕQⴸVⵝXჿoყy`) // Tifinagh and Georgian
	// Letters that do: Greek ones in mathematics, and phonetic ones. They count only if another name looks the same.
	useful = pairs(`αaιiσoρpϱpυuνvγyɑaɡgᴄcɩiɪiᴏoꜱsᴜuᴠvᴡwʏyᴢzꭎuꭒu`)
)

// pairs returns a table of letters that are written in pairs.
func pairs(text string) map[rune]rune {
	table, runes := map[rune]rune{}, []rune(text)
	for i := 0; i+1 < len(runes); i += 2 {
		table[runes[i]] = runes[i+1]
	}
	return table
}

var (
	// nameInCode matches a name in any letters, and letterRun an unbroken run of letters in it.
	nameInCode = lazyregexp.New(`[\pL_$][\pL\pM\pN_$]*`)
	letterRun  = lazyregexp.New(`[\pL\pM]+`)
)

// Names lists the lines of a source file after a change, without lines of before, that contain a name that a person reads as another
// one: the language reads it differently than it is written, or its letters are of several scripts and look like those of one. Names
// in one script, separate words in several, and letters of mathematics are usual. Names lists nothing for a file that is not code.
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

// odd reports whether a text may contain a name of more than plain letters, and ascii whether it contains only plain characters.
func odd(text string) bool { return !ascii(text) || strings.Contains(text, `\u`) }

func ascii(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// shortest is the number of adjacent letters from which they are a word rather than a sign.
const shortest = 3

// respelled says that code spells a name in other characters than its language reads, if the name as read is plain.
// An index (xᵢ) and a single letter of mathematics (ℓ, 𝒟_train) are usual.
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

// mixed says that a name in letters of several scripts looks like one of plain letters. plain holds the looks of the file's plain names.
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
		return fmt.Sprintf("holds a name that looks like another name in the file, %q, but has other letters", clip(strings.Map(look, name)))
	}
	return ""
}

// looksLatin reports whether each letter of a name is an ASCII letter or looks like one. A letter of useful looks
// like one only among ASCII letters, in a run of at least shortest letters.
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

// look returns the plain letter that a character looks like or is another form of (ｅ, 𝐞), or else the character itself.
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

// skeleton returns how a name looks: a person cannot tell names with the same skeleton apart.
func skeleton(name string) string {
	return strings.NewReplacer("I", "l", "1", "l", "0", "O").Replace(strings.Map(look, name))
}

// skeletons returns how the plain names in lines look.
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

// mostShown bounds how much of a name is shown, in bytes.
const mostShown = 40

func clip(name string) string { return strings.ToValidUTF8(name[:min(len(name), mostShown)], "") }
