package named

import (
	"slices"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

// longestValue bounds how much is read of one value, in bytes.
const longestValue = 4 << 10

// A configuration is rarely a single file: it extends others whose names say nothing. These expressions find what it names
// in this way, for all formats: by the keys that the tools use, by the options of scripts, and in a program by its imports.
var (
	// extending matches a key that names configuration, up to its value. Its group is a key after which a directory
	// does not stand for a module.
	extending = lazyregexp.New(`(?:^|[^\w.-])["']?(?:extends?|plugins|parser|processors?|customSyntax|presets?|prettier|(references|projects?|tsconfig|tsConfig|configFile))["']?[ \t]*[:=][ \t]*`)
	// configOption matches an option that names configuration, in a script or a list of options. Short options mean
	// other things too, so their value counts only if it looks like configuration.
	configOption = lazyregexp.New(`(?:^|[\s"'=])(?:(?:--config|--config-file|--rcfile|--project|--options)(?:[= ]|["'],\s*["'])\s*["']?([^\s"'&|;,]+)|-[cp](?:[= ]|["'],\s*["'])\s*["']?([^\s"'&|;,]*(?:config|rc|\.json|\.toml|\.ini|\.cfg|\.ya?ml)[^\s"'&|;,]*))`)
	// moduleName matches what a program imports, from a file or a package.
	moduleName = lazyregexp.New(`(?:\bfrom|\bimport|\brequire|\brequire\.resolve)\s*\(?\s*["']([^"'\n]+)["']`)
	// yamlItems matches the items of a YAML list after its key.
	yamlItems = lazyregexp.New(`^(?:[ \t]*(?:#[^\n]*)?\n[ \t]*-[ \t]+[^\n]+)+`)
	yamlItem  = lazyregexp.New(`(?m)^[ \t]*-[ \t]+["']?([^\s"'#]+)`)
	quoted    = lazyregexp.New(`"([^"\n]*)"|'([^'\n]*)'`)
)

// Configuration lists the names in a configuration after the keys of extending and after options: names of modules,
// and names of files. Callers find out which names are neither when they look for them.
func Configuration(text string) (modules, files []string) {
	for _, at := range extending.FindAllStringSubmatchIndex(text, check.MostFollowed) {
		names := namesOf(text[at[1]:min(len(text), at[1]+longestValue)])
		if at[2] >= 0 {
			files = append(files, names...)
		} else {
			modules = append(modules, names...)
		}
	}
	for _, m := range configOption.FindAllStringSubmatch(text, check.MostFollowed) {
		files = append(files, m[1]+m[2])
	}
	return modules, files
}

// namesOf lists the names that a text begins with: a string, a list in any format, a
// word, or the strings of an expression.
func namesOf(text string) (names []string) {
	switch {
	case text == "":
		return nil
	case text[0] == '"' || text[0] == '\'':
		if m := quoted.FindStringSubmatchIndex(text); m != nil && m[0] == 0 {
			return []string{text[1 : m[1]-1]}
		}
		return nil
	case text[0] == '[':
		return namesInList(text)
	}
	if list := yamlItems.FindString(text); list != "" {
		for _, m := range yamlItem.FindAllStringSubmatch(list, -1) {
			names = append(names, m[1])
		}
		return names
	}
	line, _, _ := strings.Cut(text, "\n")
	line, _, _ = strings.Cut(line, "}")
	if strings.HasPrefix(strings.TrimSpace(line), "{") {
		return nil // a table: its entries have keys of their own
	}
	for _, m := range quoted.FindAllStringSubmatch(line, -1) {
		names = append(names, m[1]+m[2])
	}
	if len(names) == 0 {
		word, _, _ := strings.Cut(strings.TrimSpace(line), ",")
		word, _, _ = strings.Cut(word, " ")
		names = append(names, word)
	}
	return names
}

// namesInList lists the strings of a bracketed list. In tables of the list, it takes only strings after the keys
// path, name and extends: the others are options of what is named.
func namesInList(text string) (names []string) {
	var open []byte
	key := ""
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '[', '{', '(':
			open = append(open, c)
		case ']', '}', ')':
			if open = open[:max(0, len(open)-1)]; len(open) == 0 {
				return names
			}
		case '"', '\'':
			m := quoted.FindStringSubmatchIndex(text[i:])
			if m == nil || m[0] != 0 {
				continue
			}
			name := text[i+1 : i+m[1]-1]
			i += m[1] - 1
			switch rest := strings.TrimLeft(text[i+1:], " \t"); {
			case strings.HasPrefix(rest, ":"):
				key = name
			case !slices.Contains(open, '{') || key == "path" || key == "name" || key == "extends":
				names = append(names, name)
			}
		case ',':
			key = ""
		default:
			if !isNamePart(c) {
				continue
			}
			if word := wordBefore.FindStringSubmatch(text[i:min(len(text), i+40)]); word != nil && (i == 0 || !isNamePart(text[i-1])) {
				key = word[1]
			}
		}
	}
	return names
}

// wordBefore matches a key without quotes.
var wordBefore = lazyregexp.New(`^(\w+)\s*:`)

// isNamePart reports whether a byte is part of a word.
func isNamePart(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// Imports lists the files and packages that a JavaScript or TypeScript program imports.
func Imports(text string) (names []string) {
	for _, m := range moduleName.FindAllStringSubmatch(text, check.MostFollowed) {
		names = append(names, m[1])
	}
	return names
}
